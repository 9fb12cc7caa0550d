// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's `uci`: configuration files, uncommitted changes of each session, and apply with roll
//! back.

mod apply;
mod call;
mod delta;
mod edit;
mod object;
mod package;
mod store;
mod syntax;

pub use apply::{Applied, Apply, Pending};
pub use call::METHODS;
pub use delta::{Command, Delta};
pub use object::Uci;
pub use package::{Package, Section, Value};
pub use store::{Store, StoreError};
pub use syntax::SyntaxError;
