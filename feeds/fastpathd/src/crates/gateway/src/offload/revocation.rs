// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides when to revoke offloaded flows, and keeps the last revocation for the API.

use std::time::Duration;

use config::Cause;
use ctnetlink::Revision;
use flows::Now;
use serde::Serialize;

/// Minimum interval between revocations because of set elements: a resolver that fills sets adds
/// elements with every answer.
const MIN_ELEMENTS_INTERVAL: Duration = Duration::from_secs(4);

config::coded! {
    /// Why offloaded flows had to pass the rules again.
    pub(crate) enum RevocationReason {
        Rules = "rules", "rules of nftables were changed";
        Elements = "elements", "elements of sets of nftables were changed";
        Routes = "routes", "routes were changed";
        Mtu = "mtu", "the MTU of a link is smaller";
        Ipsec = "ipsec", "policies of IPsec were changed";
        Forwarding = "forwarding", "the stack has stopped forwarding from a device";
        Stations = "stations", "hosts have moved to another port";
        Flush = "flush", "a flush was requested";
    }
}

/// The last revocation (`types.json`, `Revocation`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RevocationReport {
    pub(crate) count: u64,
    pub(crate) flows: u64,
    pub(crate) at_ms: u64,
    pub(crate) why: String,
    pub(crate) cause: Cause,
}

#[derive(Debug)]
struct Revocation {
    reason: RevocationReason,
    flows: u64,
    at: Now,
}

/// Revocations since the start, and the rate limit of set elements.
#[derive(Debug, Default)]
pub(crate) struct Revocations {
    /// Number of revocations of at least one offloaded flow.
    count: u64,
    last: Option<Revocation>,
    /// Time of the pending revocation because of changed elements.
    elements_at: Option<Duration>,
    /// Time of the last revocation because of changed elements.
    elements_last: Option<Duration>,
}

impl Revocations {
    /// Returns the reason to revoke now, after this change of nftables.
    pub(crate) fn changed(&mut self, revision: Revision, now: Now) -> Option<RevocationReason> {
        if revision.others {
            // Flows that pass the rules again pass changed elements, too.
            self.elements_at = None;
            return Some(RevocationReason::Rules);
        }
        if revision.elements && self.elements_at.is_none() {
            let free = self.elements_last.map(|last| last + MIN_ELEMENTS_INTERVAL);
            self.elements_at = Some(free.map_or(now.mono, |free| free.max(now.mono)));
        }
        self.due(now)
    }

    /// Returns the reason to revoke now because of a change that was delayed.
    pub(crate) fn due(&mut self, now: Now) -> Option<RevocationReason> {
        self.elements_at.take_if(|at| now.mono >= *at)?;
        self.elements_last = Some(now.mono);
        Some(RevocationReason::Elements)
    }

    pub(crate) fn note(&mut self, reason: RevocationReason, flows: u64, now: Now) {
        if flows > 0 {
            self.count += 1;
            self.last = Some(Revocation { reason, flows, at: now });
        }
    }

    pub(crate) fn report(&self, now: Now) -> RevocationReport {
        let Some(Revocation { reason, flows, at }) = &self.last else {
            return RevocationReport::default();
        };
        let cause = reason.cause();
        RevocationReport {
            count: self.count,
            flows: *flows,
            at_ms: now.unix_ms_at(*at),
            why: cause.text.clone(),
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Revision =
        Revision { others: true, elements: true, table: ctnetlink::Touch::None };
    const ELEMENT: Revision = Revision { others: false, ..RULES };

    fn at(seconds: u64) -> Now {
        Now { mono: Duration::from_secs(seconds), unix_ms: 1_000_000 + seconds * 1000 }
    }

    #[test]
    fn changed_rules_always_revoke_at_once() {
        let mut revocations = Revocations::default();
        for _ in 0..3 {
            let reason = revocations.changed(RULES, at(5));
            assert_eq!(reason, Some(RevocationReason::Rules));
        }
        assert_eq!(revocations.changed(Revision::default(), at(5)), None, "an empty transaction");
    }

    #[test]
    fn changed_elements_revoke_at_once_and_are_then_rate_limited() {
        let elements = Some(RevocationReason::Elements);
        let mut revocations = Revocations::default();
        assert_eq!(revocations.changed(ELEMENT, at(5)), elements);
        assert_eq!(revocations.due(at(60)), None, "nothing has changed since");
        assert_eq!(revocations.changed(ELEMENT, at(61)), elements);
        for second in [61, 62, 64] {
            assert_eq!(revocations.changed(ELEMENT, at(second)), None);
            assert_eq!(revocations.due(at(second)), None);
        }
        assert_eq!(revocations.due(at(65)), elements);
        assert_eq!(revocations.due(at(66)), None);
    }

    #[test]
    fn changed_rules_replace_a_delayed_revocation_by_elements() {
        let mut revocations = Revocations::default();
        revocations.changed(ELEMENT, at(5));
        assert_eq!(revocations.changed(ELEMENT, at(6)), None);
        assert_eq!(revocations.changed(RULES, at(7)), Some(RevocationReason::Rules));
        assert_eq!(revocations.due(at(60)), None);
    }

    #[test]
    fn the_last_revocation_with_flows_is_reported() {
        let mut revocations = Revocations::default();
        assert_eq!(revocations.report(at(1)), RevocationReport::default());
        revocations.note(RevocationReason::Rules, 7, at(5));
        revocations.note(RevocationReason::Elements, 0, at(6));
        let report = revocations.report(at(9));
        assert_eq!((report.count, report.flows, report.at_ms), (1, 7, 1_005_000));
        assert_eq!((report.cause.code, &*report.why), ("rules", "rules of nftables were changed"));
    }
}
