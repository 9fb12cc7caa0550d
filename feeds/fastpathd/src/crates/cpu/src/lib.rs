// SPDX-License-Identifier: GPL-2.0-or-later
//! One plan for IRQs, RPS, XPS, NFQUEUE and Suricata's CPU sets.
//!
//! [`Machine::read`] reads hardware and current values, [`Settings`] the configuration. [`plan()`]
//! decides, [`differences`] and [`lines()`] list the values to write, and [`View`] is the reply for
//! the page.

mod force;
mod found;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod interrupts;
mod machine;
mod plan;
mod read;
mod reason;
mod set;
mod settings;
mod split;
mod steer;
mod steering;
mod view;

pub use force::{Attempts, Difference, Refused, differences, lines};
pub use found::{Damaged, Found};
pub use machine::{Cpu, Device, FULL_CAPACITY, Irq, Knob, Machine, Serves, Thread};
pub use plan::{CpuPlan, PlanReason, Suricata, plan};
pub use read::ReadError;
pub use reason::DifferenceReason;
pub use set::CpuSet;
pub use settings::{Profile, Settings};
pub use split::Split;
pub use steering::{Hook, Steering, SteeringReason};
pub use view::{CpuRole, View, role};
