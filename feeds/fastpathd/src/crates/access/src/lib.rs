// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.access`: a login that lets nobody guess quickly.
//!
//! rpcd's own `session login` answers as fast as it is asked, and anybody who reaches the router's
//! page may ask it. [`OBJECT`] asks it on behalf of the page, and counts failed logins: after a
//! few wrong passwords it refuses for a while without asking, longer with each one. See
//! [`LoginThrottle`] for how long, and for why nobody is locked out. `begin` hands out the nonce
//! that a login needs. A browser in which the user
//! has logged in before is counted apart. A user on the router itself calls `session login` on the
//! bus, or needs no session: they are never refused.

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
