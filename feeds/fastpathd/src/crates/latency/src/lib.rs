// SPDX-License-Identifier: GPL-2.0-or-later
//! "Keep latency low": CAKE for both directions of the WAN, where flows on the fast path pass it.
//!
//! [`Settings`] is section `latency`, [`plan()`] finds the devices, [`apply`] brings a plan into
//! force and repairs it, [`remove`] removes all that is ours. Other programs' queueing disciplines
//! are recognised and left alone.

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
