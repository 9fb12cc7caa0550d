// SPDX-License-Identifier: GPL-2.0-or-later
//! Receives Suricata's events (EVE): JSON objects, one per line, over a stream socket.
//!
//! [`EventListener`] receives them, [`Reader`] splits, rate-limits and parses them, and [`Events`]
//! stores the relevant ones. A slow reader never delays packets, because Suricata sends with
//! `MSG_DONTWAIT` (`SCLogFileWriteSocket`) and drops events that do not fit. Only `connect` could
//! block Suricata, when the backlog is full, so connections are accepted at once.

mod alert;
mod alerts;
mod budget;
mod event;
mod events;
mod lines;
mod listener;
mod log_line;
mod rate;
mod reader;
mod ring;
mod saved;
mod severities;
mod time;
mod visible;
mod wanted;

pub use alert::{Alert, Direction, Offence};
pub use alerts::{AlertContext, AlertFilter, Alerts, Page, Row};
pub use budget::AlertRates;
pub use event::{Event, EventKind, EventLine, FlowEnd, read_event};
pub use events::{Events, Offender};
pub use listener::{EventListener, ListenError};
pub use rate::Rate;
pub use reader::{Batch, Counts, Rates, Reader};
pub use saved::MAX_FILE_LEN as MAX_SAVED_LEN;
pub use severities::Severities;
pub use visible::{Visibility, Visible, Volume};
pub use wanted::WantedKinds;
