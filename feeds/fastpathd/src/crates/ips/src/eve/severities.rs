// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts alerts by severity and action for metrics. Alerts that the rate limits left unread have
//! no severity; [`Counts`](super::reader::Counts) has their number.

use super::alert::Alert;

/// Labels in the order of [`Severities::counted`]; rule files use severities 1 to 4.
const NAMES: [&str; 5] = ["1", "2", "3", "4", "other"];

/// Alerts about packets that passed and about dropped ones, for each label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Severities([[u64; 2]; NAMES.len()]);

impl Severities {
    pub(super) fn note(&mut self, alert: &Alert) {
        let name = alert.severity.to_string();
        let at = NAMES.iter().position(|known| *known == name).unwrap_or(NAMES.len() - 1);
        self.0[at][usize::from(alert.blocked)] += 1;
    }

    /// Returns each severity with the numbers of alerts about packets that passed and about dropped
    /// ones.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, [u64; 2])> {
        NAMES.into_iter().zip(self.0)
    }
}
