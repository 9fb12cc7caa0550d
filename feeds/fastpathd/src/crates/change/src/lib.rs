// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.change`: a change of the configuration is one transaction.
//!
//! Edits of UCI files ([`read_edits`]) are applied to the current packages ([`Draft`]), validated
//! (problems and connectivity loss), shown without secrets, and applied by rpcd for some seconds.
//! Unless they are confirmed in time, the old state is restored, even after a power loss, since it
//! is on the medium before anything is changed. A confirmed change is recorded and can be undone
//! ([`inverse`]).
//!
//! The core is pure; `uci`, `caller`, `store` and `administrator` access the router, `api` and
//! `transaction` join them.

mod administrator;
mod api;
mod caller;
mod cuts;
mod diff;
mod disk;
mod draft;
mod edit;
mod exposes;
#[cfg(test)]
mod faults;
mod force;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod host;
mod input;
mod log;
mod problem;
mod reason;
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
mod zone_access;
mod zone_pairs;

pub use ::uci::text as file_text;
pub use ::uci::{Options, Package, Packages, Section, Setting};
pub use api::{OBJECT, apply};
pub use caller::LOCAL;
pub use config::secret::MASK;
pub use draft::{Draft, DraftError, Pair};
pub use edit::{CONFIGS, Edit, EditError, Op, read_edits};
pub use reason::ChangeReason;
pub use undo::{ChangedSince, inverse};
pub use watch::{boot, leave, settle};

/// Returns the store of this router, or of the root that the environment variable `FASTPATH_ROOT`
/// names.
fn store() -> store::Store {
    std::env::var_os("FASTPATH_ROOT")
        .map_or_else(store::Store::default, |root| store::Store::below(root.as_ref()))
}
