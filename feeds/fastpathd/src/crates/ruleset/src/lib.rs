// SPDX-License-Identifier: GPL-2.0-or-later
//! From `/etc/config/fastpath` to `table inet fastpath`.
//!
//! [`Settings`] are what the owner wants, a [`Plan`] is what that means on the devices of this
//! machine, [`render`] turns it into nft's language and [`apply`] puts it in force: checked,
//! applied in one transaction, read back and compared.

mod apply;
mod exclude;
#[cfg(test)]
mod fake;
mod in_force;
mod nft;
mod plan;
mod render;
mod settings;

pub use apply::{Applied, ApplyError, apply, read_back, remove};
pub use exclude::{Exclude, Ports};
pub use in_force::InForce;
pub use nft::{Nft, NftCommand, NftError};
pub use plan::{Candidate, Decision, Plan, plan};
pub use render::{render, render_remove};
pub use settings::{Engine, OnExit, Settings};
