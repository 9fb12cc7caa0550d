// SPDX-License-Identifier: GPL-2.0-or-later
//! Connection tracking entries and events as plain values, and the sockets they come from.
//!
//! Nothing here keeps state: [`Dump`] reads the whole table batch by batch, [`EventSocket`] reports
//! changes, [`Lookup`] asks for one entry; [`Reinspection`] makes connections new to inspection,
//! [`set_mark`], [`keep`] and [`delete`] change single ones. [`RevisionSocket`] reports changes of
//! the rules, which come over the same family. Attributes are decoded by
//! `netlink-bindings`, whose tables are generated from the kernel's own specification.

mod change;
mod decode;
mod dump;
mod entry;
mod event;
mod lookup;
mod reinspect;
mod request;
mod revision;

pub use change::{Changed, DeleteError, MarkError, UpdateError, delete, set_mark, update};
pub use decode::{entries, entry};
pub use dump::{Dump, DumpError};
pub use entry::{Counters, Entry, Status, TcpState, Tuple};
pub use event::{Event, EventError, EventSocket, events};
pub use lookup::{Lookup, LookupError};
pub use reinspect::{ReinspectError, Reinspection, Select};
pub use request::{EntryUpdate, MarkBits};
pub use revision::{Revision, RevisionError, RevisionSocket, Revisions, Touch, generation};
