// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule sets for Suricata, from their sources to one tested file.
//!
//! The program `fastpath-rules` runs updates: for fastpathd over a socket, as a user of its own
//! (`serve`), or once for a person (`update`). An update reads a [`Request`] and returns a
//! [`State`]. External data is untrusted: downloads have limits of size and time, archives are read
//! as streams and never written under names of their own, and rules come into force only after
//! Suricata itself has loaded them.

mod acquire;
mod archive;
mod collect;
mod fault;
mod fetch;
mod input;
mod lines;
mod merge;
mod process;
mod program;
mod reason;
mod request;
mod restore;
mod rule;
mod select;
mod serve;
mod settings;
mod state;
mod store;
mod trial;
mod update;
mod verify;

pub use archive::{ArchiveError, ArchiveLimits};
pub use collect::{Collected, Wanted, collect};
pub use fault::SourceFault;
pub use fetch::Fetcher;
pub use lines::{Line, LineError, Lines};
pub use program::run;
pub use reason::{SourceReason, UpdateReason};
pub use request::{Builtin, OWN, Request, RequestError, SourceRequest};
pub use restore::restore;
pub use rule::{KeepReason, Rule, Unusable, is_disabled_rule};
pub use select::{Choice, Selector};
pub use settings::{Hour, OwnRules, Settings};
pub use state::{SourceReport, SourceState, State, StateError, StoredCause, UpdateOutcome};
pub use store::{Store, current, previous, state};
pub use update::{Progress, UpdateContext, update};
pub use verify::UsignKey;
