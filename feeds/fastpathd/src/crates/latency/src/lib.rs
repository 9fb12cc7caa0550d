// SPDX-License-Identifier: GPL-2.0-or-later
//! "Keep latency low": CAKE for both directions of the WAN, where flows on the fast path pass it.
//!
//! [`Settings`] is section `latency`, [`plan()`] finds the devices, [`apply`] applies and repairs a
//! plan, [`remove`] removes all our objects. Queueing disciplines of other programs are recognised
//! and left alone.

mod apply;
mod plan;
mod reason;
mod settings;
mod wire;

pub use apply::{Applied, Failure, Kernel, Left, apply, remove};
pub use plan::{Device, Plan, Wan, plan};
pub use reason::LatencyReason;
pub use settings::Settings;
pub use wire::IFB;
