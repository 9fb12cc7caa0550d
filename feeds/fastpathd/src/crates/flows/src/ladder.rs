// SPDX-License-Identifier: GPL-2.0-or-later
//! Path and reason of a flow.

use crate::words::{Path, Reason};

/// What is known about a flow when its path is decided.
#[derive(Debug, Clone, Default)]
pub struct Facts;

/// The decision.
pub type Verdict = (Path, Option<Reason>);

/// Climbs the ladder: the first rung that holds decides.
#[must_use]
pub fn climb(_facts: &Facts) -> Verdict {
    (Path::Slow, Some(Reason::EngineOff))
}
