// SPDX-License-Identifier: GPL-2.0-or-later
//! IPFIX messages (RFC 7011) about flows: one biflow record (RFC 5103) for each flow, with the
//! addresses behind NAT (RFC 8158). No I/O; the clock comes in as a parameter.

mod element;
mod flow;
mod queue;
mod session;
mod settings;

pub use element::{Element, INTERFACE, Owner, Template, V4, V6, csv};
pub use flow::{EndReason, Ends, Flow};
pub use queue::Queue;
pub use session::{MESSAGE_MOST, Session};
pub use settings::{Protocol, Settings};
