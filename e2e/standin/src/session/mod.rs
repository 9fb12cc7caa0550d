// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's `session`: logged-in users and their rights.

mod grants;
mod login;
mod object;
mod store;

pub use grants::Grants;
pub use login::{Accounts, password_matches};
pub use object::{METHODS, answer};
pub use store::{NOBODY, Session, Sessions};
