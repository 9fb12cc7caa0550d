// SPDX-License-Identifier: GPL-2.0-or-later
//! "Keep latency low": CAKE for both directions of the WAN, placed where offloaded flows pass it.
//!
//! [`Settings`] is section `latency`, [`plan()`] selects the devices, [`apply`] applies or repairs
//! a plan, and [`remove`] removes all objects. Queueing disciplines of other programs are detected
//! and kept.

mod apply;
mod plan;
mod reason;
mod settings;
mod wire;

pub use apply::{Applied, Failure, Kernel, Remaining, apply, remove};
pub use plan::{Device, Plan, Wan, plan};
pub use reason::LatencyReason;
pub use settings::Settings;
pub use wire::IFB;
