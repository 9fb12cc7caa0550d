// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's events for collectors of logs: the queue, messages of syslog (RFC 5424). No I/O.

mod line;
mod queue;
mod settings;
mod syslog;

pub use line::host_name;
pub use queue::{MOST_WAITING, Queue};
pub use settings::Settings;
pub use syslog::message;
