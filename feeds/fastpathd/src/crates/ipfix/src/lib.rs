// SPDX-License-Identifier: GPL-2.0-or-later
//! IPFIX messages (RFC 7011) without I/O: one biflow record (RFC 5103) per flow, with its addresses
//! after NAT (RFC 8158). Callers provide the time.

mod element;
mod flow;
mod queue;
mod session;
mod settings;

pub use element::{Element, INTERFACE, Owner, Template, V4, V6, csv};
pub use flow::{EndReason, Ends, Flow};
pub use queue::Queue;
pub use session::{MAX_MESSAGE, Session};
pub use settings::{Protocol, Settings};
