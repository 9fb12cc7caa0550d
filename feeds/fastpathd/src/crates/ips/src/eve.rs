// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's events (EVE): JSON objects, one a line, over a stream socket.
//!
//! [`EventListener`] hears them, [`Reader`] splits, limits and reads them, [`Events`] keeps what is
//! worth it. Suricata sends with `MSG_DONTWAIT` (`SCLogFileWriteSocket`): while nobody reads,
//! an event is lost and counted there, and no packet waits for it. Only `connect` can block it,
//! when as many connections wait as the socket's backlog has room for; it connects anew at
//! most every half second, after its connection broke. So it is enough to accept at once what
//! comes and to drain it, and no harm is done by not doing so for a while.

mod alert;
mod alerts;
mod event;
mod events;
mod lines;
mod listener;
mod rate;
mod reader;
mod time;
mod visible;

pub use alert::{Alert, Direction, Offence};
pub use alerts::{AlertContext, AlertFilter, Alerts, Page, Row};
pub use event::{Event, FlowEnd, read_event};
pub use events::{Events, Offender};
pub use listener::{EventListener, ListenError};
pub use rate::Rate;
pub use reader::{Batch, Counts, Rates, Reader};
pub use visible::{Visibility, Visible, Volume};
