// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports Suricata's events to log collectors: queue and syslog messages (RFC 5424), without I/O.

mod line;
mod queue;
mod settings;
mod syslog;

pub use line::host_name;
pub use queue::{MAX_WAITING, Queue};
pub use settings::Settings;
pub use syslog::message;
