// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.access`: throttled logins of the page.
//!
//! rpcd's `session login` does not limit password guessing. [`OBJECT`] calls it for the page and
//! delays attempts after a few wrong passwords, longer with each one. [`LoginThrottle`] counts
//! browsers of earlier logins separately, so that guessing does not lock out their users. Programs
//! on the router call `session login` directly and are not throttled.

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
