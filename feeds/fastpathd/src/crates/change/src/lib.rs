// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.change`: a change of the configuration is one transaction.
//!
//! Edits of UCI files ([`read_edits`]) are carried out on the packages as they are ([`Draft`]),
//! judged (problems, and whether they would cut the administrator off), shown (without secrets),
//! and applied by rpcd for some seconds. Unless they are confirmed within, what was before is
//! back; after a loss of power too, since it is on the medium before anything is changed. What
//! was confirmed is remembered and can be taken back ([`inverse`]).
//!
//! The core is pure; `uci`, `caller`, `store` and `place` touch the router, `api` and
//! `transaction` join them.

mod api;
mod caller;
mod cuts;
mod diff;
mod draft;
mod edit;
mod exposes;
#[cfg(test)]
#[path = "faults_tests.rs"]
mod faults;
mod force;
mod host;
mod input;
mod log;
mod place;
mod problem;
mod record;
#[cfg(test)]
mod sample;
mod secret;
mod store;
mod transaction;
mod uci;
mod undo;
mod validate;
mod watch;

pub use ::uci::text as file_text;
pub use ::uci::{Options, Package, Packages, Section, Setting};
pub use api::{OBJECT, apply};
pub use caller::LOCAL;
pub use config::secret::{MASK, is_secret};
pub use draft::{Draft, DraftError, Pair};
pub use edit::{CONFIGS, Edit, EditError, Op, read_edits};
pub use undo::{ChangedSince, inverse};
pub use watch::{boot, settle};

/// The folders of the router; of another root where the environment's `FASTPATH_ROOT` names one.
fn store() -> store::Store {
    std::env::var_os("FASTPATH_ROOT")
        .map_or_else(store::Store::default, |root| store::Store::below(root.as_ref()))
}
