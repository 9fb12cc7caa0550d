// SPDX-License-Identifier: GPL-2.0-or-later
//! What makes this router slow or unsafe, with evidence, what it costs and how to fix it.
//!
//! [`Facts::gather`] reads everything through a [`Machine`]; each check of [`CHECKS`] is a pure
//! function from facts to a [`Verdict`]; [`Report`] turns verdicts into words of a language and
//! into what the ubus object `fastpath.doctor` answers ([`answer`]).
//!
//! # How to add a check
//!
//! 1. **Facts**: a struct for each area in `facts/AREA.rs`, with a function
//!    `read(&dyn Machine) -> Area`. Whatever may be unreadable is a [`Known`]: a check asks for it
//!    with `.get()?`, and becomes "unknown" with the reason when it is not there.
//! 2. **Check**: `fn name(facts: &Facts) -> Verdict` in `checks/GROUP.rs`: `Ok(None)` when all is
//!    well, `Ok(Some(Finding))` when not; at most one finding a check, which names all ports or
//!    rules it is about. A [`Fix`] only where it is safe without a second thought.
//! 3. **Table**: a line in that file's `CHECKS` with a stable id, and the group in
//!    `checks/mod.rs`.
//! 4. **Words**: in `words/en.json` and `words/de.json` under `GROUP`, `ID`: `about` (what is
//!    looked at), `ok`, `title`, `consequence`, `remedy`, and `gain`, `fix` if the finding has
//!    them. A finding with a [`Finding::case`] looks for `ID/CASE` first, key by key. `{name}` is
//!    filled from [`Finding::params`]; the same holes must be in each language. Names of evidence
//!    are in `GROUP`, `what`; `{of}` there is what the evidence is about.
//! 5. **Tests**: beside the check, with `machine::fake`: broken and healthy;
//!    `assert_words` shows that no word is missing. In the lab: `e2e/tests/vm/doctor*.sh`, or the
//!    reason why it cannot be broken there in `doctor-unbroken.json` beside them;
//!    `node e2e/scripts/doctor-tests.mjs` tells which check has neither.

mod answer;
mod audience;
pub mod checks;
pub mod facts;
mod finding;
mod fix;
pub mod machine;
mod object;
mod pmtu;
mod report;
mod turn;
mod words;

pub use answer::answer;
pub use audience::{Audience, WITHHELD};
pub use checks::{CHECKS, Check};
pub use facts::{Facts, Known, Unknown};
pub use finding::{Evidence, Finding, Fix, Gain, Severity, Step, Verdict};
pub use fix::{FixError, fix};
pub use machine::{Ethtool, Machine};
pub use object::OBJECT;
pub use pmtu::{PmtuError, measure};
pub use report::{Report, run};
pub use words::{FOLDER as WORDS_FOLDER, Words, WordsError};
