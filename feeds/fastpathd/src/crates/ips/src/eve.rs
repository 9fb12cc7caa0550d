// SPDX-License-Identifier: GPL-2.0-or-later
//! Receives Suricata's events (EVE): JSON objects, one per line, over a stream socket.
//!
//! [`EventListener`] receives them, [`Reader`] splits, rate-limits and parses them, [`Events`]
//! stores the relevant ones. Suricata sends with `MSG_DONTWAIT` (`SCLogFileWriteSocket`): if nobody
//! reads, it drops and counts the event, and no packet waits. Only `connect` can block Suricata,
//! when the backlog of the socket is full; after a broken connection it reconnects at most every
//! half second. So it suffices to accept connections at once and to drain them, and a pause is
//! harmless.

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
