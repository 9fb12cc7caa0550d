// SPDX-License-Identifier: GPL-2.0-or-later
//! The doctor, ubus object `fastpath.doctor`: finds causes of low speed or safety, with evidence,
//! consequence and remedy.
//!
//! `Facts::gather` reads the router through a `Machine`. Each check of `CHECKS` is a pure function
//! from facts to a `Verdict`. `Report` converts verdicts to codes with parameters and English
//! texts. The page has texts in other languages.
//!
//! # How to add a check
//!
//! 1. **Facts**: add a struct to `facts/AREA.rs` with a function `read(&dyn Machine) -> Area`. A
//!    value that may be unreadable is a `Known`. A check reads it with `.get()?`, and becomes
//!    "unknown" with the reason if the value is missing.
//! 2. **Check**: add `fn name(facts: &Facts) -> Verdict` to `checks/GROUP.rs`. It returns
//!    `Ok(None)` without a problem, otherwise one `Finding` for all affected ports or rules. Add a
//!    `Fix` only if it cannot do harm.
//! 3. **Table**: add a line with a stable id to that file's `CHECKS`, and a new group to
//!    `checks/mod.rs`.
//! 4. **Texts**: add `about` (the subject of the check), `ok`, `title`, `consequence`, `remedy`
//!    (with commands and files between backticks), and `gain` and `fix` if the finding has them, to
//!    `texts/en.json` under `GROUP`, `ID`. A finding with a `Finding::case` prefers the keys of
//!    `ID/CASE`. `{name}` is replaced from `Finding::params`. Names of evidence are in `GROUP`,
//!    `what`, where `{of}` is the object. German texts are in
//!    `ui/src/lib/health/findings/de.json` under `GROUP.ID.title`; the page's tests require them.
//! 5. **Tests**: test a broken and a healthy `machine::fake` next to the check; `assert_texts`
//!    requires all texts. Cause the problem in the lab (`e2e/tests/vm/doctor*.sh`), or give the
//!    reason why that is impossible as `@unbroken:ID: REASON` in `lib/doctor.sh` there. `node
//!    e2e/scripts/tags.mjs` lists checks that have neither.

mod answer;
mod audience;
mod checks;
mod facts;
mod finding;
mod fix;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod kept;
mod machine;
mod object;
mod pmtu;
mod ppe;
mod ppe_entries;
mod reason;
mod report;
mod texts;
mod turn;

pub use object::OBJECT;
pub use reason::DoctorReason;
