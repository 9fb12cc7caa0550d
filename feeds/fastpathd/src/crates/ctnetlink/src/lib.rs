// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and changes conntrack entries over netlink.
//!
//! [`Dump`] reads the whole table, [`Lookup`] reads one entry, and [`EventSocket`] receives events.
//! [`set_mark`], [`update`] and [`delete`] change entries. [`Reinspection`] returns connections to
//! inspection. [`RevisionSocket`] reports changes of nftables rules.

mod change;
mod counted;
mod cta;
mod decode;
mod dump;
mod entry;
mod event;
mod lookup;
mod reinspect;
mod request;
mod revision;
mod set_use;

pub use change::{Changed, DeleteError, MarkError, UpdateError, delete, set_mark, update};
pub use counted::{counted, marks};
pub use decode::{entries, entry};
pub use dump::{Dump, DumpError};
pub use entry::{Counters, Entry, Status, TcpState, Tuple};
pub use event::{Event, EventError, EventSocket, MAX_EVENTS, events};
pub use lookup::{Lookup, LookupError};
pub use reinspect::{ReinspectError, Reinspection, Select};
pub use request::{EntryUpdate, MarkBits};
pub use revision::{Revision, RevisionError, RevisionSocket, Revisions, Touch, generation};
