// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts alerts by severity and action, for metrics. Alerts that the rate limits skipped are not
//! included, because their severity is unknown.

use super::alert::Alert;

/// Labels in the order of [`Severities::counted`]. Rule files use severities 1 to 4.
const NAMES: [&str; 5] = ["1", "2", "3", "4", "other"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Severities([[u64; 2]; NAMES.len()]);

impl Severities {
    pub(super) fn note(&mut self, alert: &Alert) {
        let name = alert.severity.to_string();
        let at = NAMES.iter().position(|known| *known == name).unwrap_or(NAMES.len() - 1);
        self.0[at][usize::from(alert.blocked)] += 1;
    }

    pub fn counted(&self) -> impl Iterator<Item = (&'static str, [u64; 2])> {
        NAMES.into_iter().zip(self.0)
    }
}
