// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.access`: logins that slow down guessing.
//!
//! rpcd's `session login` answers without delay, and anybody who reaches the page may call it.
//! [`OBJECT`] calls it for the page and delays attempts after a few wrong passwords, longer with
//! each one; [`LoginThrottle`] counts browsers of earlier logins separately, so that guessing does
//! not lock out their users. Users on the router call `session login` on the bus, or need no
//! session, and are never refused.

mod account;
mod browser;
mod crypt;
mod files;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod journal;
mod login;
mod record;
mod rpcd_acl;
mod throttle;

pub use files::close_secrets;
pub use login::{LoginReason, OBJECT};
pub use record::{Record, RecordError};
pub use rpcd_acl::login_grant;
pub use throttle::{Client, Failures, LoginThrottle};
