// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.change`: a configuration change is one transaction.
//!
//! A [`Draft`] has the packages before and after a list of edits ([`read_edits`]). Drafts are
//! checked for problems, connectivity loss and exposure, and applied by rpcd with a rollback timer.
//! The old state is on the medium first, so it is also restored after a power cut. A confirmed
//! change is recorded and can be undone ([`inverse`]).
//!
//! The object `fastpath.device` ([`DEVICE`]) writes sections of devices without a confirmation.
//!
//! `uci`, `caller`, `store` and `administrator` access the router. `api` and `transaction` combine
//! them with the other modules, which have no I/O.

mod administrator;
mod api;
mod caller;
mod cuts;
mod device;
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
pub use device::OBJECT as DEVICE;
pub use device::free;
pub use draft::{Draft, DraftError, Pair};
pub use edit::{CONFIGS, Edit, EditError, Op, read_edits};
pub use reason::ChangeReason;
pub use undo::{ChangedSince, inverse};
pub use watch::{boot, leave, settle};

/// Returns the store of this router, or below the folder in the environment variable
/// `FASTPATH_ROOT`.
fn store() -> store::Store {
    std::env::var_os("FASTPATH_ROOT")
        .map_or_else(store::Store::default, |root| store::Store::below(root.as_ref()))
}
