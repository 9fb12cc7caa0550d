// SPDX-License-Identifier: GPL-2.0-or-later
//! Turns `/etc/config/fastpath` into `table inet fastpath`.
//!
//! [`plan()`] resolves [`Settings`] to the devices of this machine, [`render`] formats the [`Plan`]
//! as an nft script, and [`apply`] runs the script in one transaction and verifies the result. With
//! [`InspectionRules`], packets pass Suricata before their connection is offloaded. [`block`] and
//! [`release`] change the blocked sources. Packets of [`Paused`] hosts are dropped;
//! [`HostRules`] limit and inspect those of single hosts.

mod apply;
mod block;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fixture;
mod foreign;
mod hosts;
mod in_force;
mod inspection;
mod marks;
mod nft;
mod paused;
mod plan;
mod policy;
mod render;
mod rules;
mod settings;

pub use apply::{Applied, ApplyError, apply, has_bridge_flowtable, read_back, remove, renew};
pub use block::{BlockElement, BlockError, block, release};
pub use foreign::{ForeignRules, Surroundings};
pub use hosts::HostRules;
pub use in_force::{Counter, InForce};
pub use inspection::{InspectionRules, Queues};
pub use marks::Marks;
pub use nft::{Nft, NftCommand, NftError};
pub use plan::{Candidate, Decision, Paused, Plan, PlanReason, Protection, plan};
pub use policy::{Policy, Segments};
pub use render::{render, render_remove};
pub use rules::{BY_CPU, IPSEC_SET, MISSED_SETS};
pub use settings::{OnExit, Settings};
