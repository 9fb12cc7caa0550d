// SPDX-License-Identifier: GPL-2.0-or-later
//! The doctor, ubus object `fastpath.doctor`: all that makes this router slow or unsafe, with
//! evidence, consequence and remedy. How to add a check.
//!
//! `Facts::gather` reads everything through a `Machine`; each check of `CHECKS` is a pure
//! function from facts to a `Verdict`; `Report` turns verdicts into the answer of the ubus
//! object `fastpath.doctor` (`answer`): a code with its parameters, and the text in English. The
//! page has the other languages.
//!
//! # How to add a check
//!
//! 1. **Facts**: a struct for each area in `facts/AREA.rs`, with a function
//!    `read(&dyn Machine) -> Area`. Whatever may be unreadable is a `Known`: a check reads it
//!    with `.get()?`, and becomes "unknown" with the reason if it is missing.
//! 2. **Check**: `fn name(facts: &Facts) -> Verdict` in `checks/GROUP.rs`: `Ok(None)` when all is
//!    well, otherwise `Ok(Some(Finding))`; at most one finding a check, which names all affected
//!    ports or rules. A `Fix` only where it cannot do harm.
//! 3. **Table**: a line in that file's `CHECKS` with a stable id, and the group in
//!    `checks/mod.rs`.
//! 4. **Texts**: in `texts/en.json` under `GROUP`, `ID`: `about` (the subject of the check), `ok`,
//!    `title`, `consequence`, `remedy` (commands and files in it between backticks), and `gain`,
//!    `fix` if the finding has them. A finding with
//!    a `Finding::case` uses `ID/CASE` first, key by key. `{name}` is filled from
//!    `Finding::params`. Names of evidence are in `GROUP`, `what`; `{of}` there is its object.
//!    In German: `ui/src/lib/health/findings/de.json`, key `GROUP.ID.title`; the page's tests
//!    fail while one is missing.
//! 5. **Tests**: next to the check, with `machine::fake`: broken and healthy; `assert_texts` shows
//!    that no text is missing. In the lab: `e2e/tests/vm/doctor*.sh`, or the reason why it cannot
//!    be broken there as `@unbroken:ID: REASON` in `lib/doctor.sh` there; `node
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
mod reason;
mod report;
mod texts;
mod turn;

pub use object::OBJECT;
pub use reason::DoctorReason;
