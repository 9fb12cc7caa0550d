// SPDX-License-Identifier: GPL-2.0-or-later
//! From `/etc/config/fastpath` to `table inet fastpath`.
//!
//! [`Settings`] are what the owner wants, a [`Plan`] is what that means on the devices of this
//! machine, [`render`] turns it into nft's language and [`apply`] puts it in force: checked,
//! applied in one transaction, read back and compared.

mod apply;
mod nft;
mod plan;
mod render;
mod settings;
mod uci;

pub use apply::{Applied, ApplyError, InForce, apply, read_back, remove};
pub use nft::{Nft, NftCommand, NftError};
pub use plan::{Candidate, Decision, Plan, plan};
pub use render::{render, render_remove};
pub use settings::{Engine, Exclude, Network, OnExit, Ports, Problem, Settings, SettingsError};
pub use uci::{UciError, parse_uci};
