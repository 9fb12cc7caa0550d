// SPDX-License-Identifier: GPL-2.0-or-later
//! Quality of the lines: probes of each WAN, their round trips and losses.

use std::net::IpAddr;
use std::time::Duration;

use ledger::{Key, Name, Sums};

use super::WanSample;

const INTERVAL: Duration = Duration::from_secs(10);

/// A question to a server through a WAN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Name of the WAN.
    pub wan: String,
    pub device: String,
    pub server: IpAddr,
}

#[derive(Debug, Default)]
pub(super) struct State {
    is_on: bool,
    probed_at: Duration,
    /// Targets that have answered.
    answering: Vec<Probe>,
}

impl State {
    pub(super) fn configure(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Returns the probes that are due. Called once a second.
    pub(super) fn second(&mut self, wans: &[WanSample], now: Duration) -> Option<Vec<Probe>> {
        let probes = || wans.iter().filter_map(|wan| wan.probe.clone());
        self.answering.retain(|known| probes().any(|probe| probe == *known));
        if !self.is_on || now.saturating_sub(self.probed_at) < INTERVAL {
            return None;
        }
        self.probed_at = now;
        let probes: Vec<Probe> = probes().collect();
        (!probes.is_empty()).then_some(probes)
    }

    /// Returns what to add. A server that has never answered may not be one, so its silence is no
    /// loss.
    pub(super) fn probed(
        &mut self,
        probe: Probe,
        round_trip: Option<Duration>,
    ) -> Vec<(Key, Sums)> {
        let name = Name::new(&probe.wan);
        let is_known = self.answering.contains(&probe);
        let Some(round_trip) = round_trip else {
            return is_known.then_some((Key::Probes(name), [1, 0, 1])).into_iter().collect();
        };
        if !is_known {
            self.answering.push(probe);
        }
        let micros = u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX).max(1);
        vec![(Key::Probes(name), [1, micros, 0]), (Key::Extremes(name), [micros, micros, 0])]
    }
}

#[cfg(test)]
mod tests;
