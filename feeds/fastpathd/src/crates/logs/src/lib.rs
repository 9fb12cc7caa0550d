// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's events for collectors of logs: the queue, messages of syslog (RFC 5424), commands and
//! replies of Redis. No I/O.

mod line;
mod queue;
mod redis;
mod settings;
mod syslog;

pub use line::host_name;
pub use queue::{MOST_WAITING, Queue};
pub use redis::{Keeping, Redis, RedisFault, Replies, command, greeting};
pub use settings::{Password, Receiver, Settings};
pub use syslog::message;
