// SPDX-License-Identifier: GPL-2.0-or-later
//! One plan for IRQs, RPS, XPS, NFQUEUE and Suricata's CPU sets.
//!
//! [`Machine::read`] tells what there is and what is set, [`Settings`] what the owner wants,
//! [`plan()`] decides, [`differences`] and [`lines()`] say what is to be written, [`Attempts`] what
//! is worth another try, [`Found`] remembers what was there before, and [`View`] is what the page
//! shows. Time is passed in, and nothing is written here.
//!
//! Who does what is explained in the module `split`, which interrupt and queue goes where in
//! `steer`, how `OpenWrt`'s packet steering is kept away in `steering`.

mod force;
mod found;
mod interrupts;
mod machine;
mod plan;
mod read;
mod set;
mod settings;
mod split;
mod steer;
mod steering;
mod view;

pub use force::{Attempts, Difference, Refused, differences, lines};
pub use found::{Damaged, Found};
pub use machine::{Cpu, Device, FULL_CAPACITY, Irq, Knob, Machine, Serves, Thread};
pub use plan::{Plan, Suricata, plan};
pub use read::ReadError;
pub use set::CpuSet;
pub use settings::{Profile, Settings};
pub use split::Split;
pub use steering::{Hook, Steering};
pub use view::{Role, View, role};
