// SPDX-License-Identifier: GPL-2.0-or-later
//! One plan for IRQs, RPS, XPS, NFQUEUE and Suricata's CPU sets.

mod interrupts;
mod machine;
mod plan;
mod read;
mod set;
mod settings;
mod split;
mod steer;

pub use machine::{Cpu, Device, FULL_CAPACITY, Irq, Knob, Machine, Serves, Thread};
pub use plan::{Plan, Suricata, plan};
pub use read::ReadError;
pub use set::CpuSet;
pub use settings::{Profile, Settings};
pub use split::Split;
