// SPDX-License-Identifier: GPL-2.0-or-later
//! Updates Suricata's rule set: downloads sources, merges their rules, and tests the result.
//!
//! The program `fastpath-rules` runs updates for fastpathd over a socket, with a separate user
//! (`serve`), or once (`update`). An update reads a [`Request`] and returns a [`State`]. Sources
//! are untrusted: downloads have limits of size and time, archives are read as streams, and rules
//! come into force only after Suricata has loaded them in a test.

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
pub use request::{Builtin, OWN, Request, RequestError, SourceRequest, check_url, is_source_name};
pub use restore::restore;
pub use rule::{KeepReason, Rule, Unusable, is_disabled_rule};
pub use select::{Choice, Selector};
pub use settings::{Hour, OwnRules, Settings};
pub use state::{SourceReport, SourceState, State, StateError, StoredCause, UpdateOutcome};
pub use store::{Store, current, previous, state};
pub use update::{Progress, UpdateContext, update};
pub use verify::UsignKey;
