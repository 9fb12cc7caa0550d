// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's counters, from `stats` events and the answer to `dump-counters`.

use serde_json::Value;

use crate::health::RuleCounts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SuricataCounters {
    pub uptime_s: u64,
    pub packets: u64,
    pub bytes: u64,
    pub accepted: u64,
    pub blocked: u64,
    pub alerts: u64,
    /// Alerts that were not written because a packet had too many, or that were suppressed.
    pub alerts_lost: u64,
    /// Packets that the kernel dropped before a tap could read them.
    pub capture_drops: u64,
    /// Packets of bypassed flows that still reached Suricata.
    pub bypassed_packets: u64,
    /// Bypassed flows. Suricata counts them when they time out, minutes later.
    pub bypassed_flows: u64,
    /// Packets and streams dropped because a table has reached its memory limit.
    pub memory_drops: u64,
    /// TCP segments handled by a thread other than their flow's.
    pub wrong_thread: u64,
    /// `None` if the counters list no detection engine.
    pub rules: Option<RuleCounts>,
}

impl SuricataCounters {
    /// Parses counters, grouped by subject. Missing counters are 0. Returns `None` for a value
    /// that is no object or has a counter that is no number.
    #[must_use]
    pub fn read(stats: &Value) -> Option<Self> {
        if !stats.is_object() {
            return None;
        }
        let number = |path: &str| count(stats.pointer(path));
        let sum = |paths: &[&str]| {
            paths.iter().try_fold(0_u64, |sum, path| Some(sum.saturating_add(number(path)?)))
        };
        let engines = match stats.pointer("/detect/engines") {
            Some(engines) => engines.as_array()?.as_slice(),
            None => &[],
        };
        let of_engines = |name: &str| {
            engines
                .iter()
                .try_fold(0_u64, |sum, engine| Some(sum.saturating_add(count(engine.get(name))?)))
        };
        let rules =
            RuleCounts { loaded: of_engines("rules_loaded")?, failed: of_engines("rules_failed")? };
        Some(Self {
            uptime_s: number("/uptime")?,
            packets: number("/decoder/pkts")?,
            bytes: number("/decoder/bytes")?,
            accepted: number("/ips/accepted")?,
            blocked: number("/ips/blocked")?,
            alerts: number("/detect/alert")?,
            alerts_lost: sum(&["/detect/alert_queue_overflow", "/detect/alerts_suppressed"])?,
            capture_drops: number("/capture/kernel_drops")?,
            bypassed_packets: sum(&[
                "/flow_bypassed/local_pkts",
                "/flow_bypassed/local_capture_pkts",
            ])?,
            bypassed_flows: sum(&[
                "/flow/end/state/local_bypassed",
                "/flow/end/state/capture_bypassed",
            ])?,
            memory_drops: sum(&[
                "/tcp/ssn_memcap_drop",
                "/tcp/segment_memcap_drop",
                "/flow/memcap",
                "/defrag/max_trackers_reached",
            ])?,
            wrong_thread: number("/tcp/pkt_on_wrong_thread")?,
            rules: (!engines.is_empty()).then_some(rules),
        })
    }
}

/// Returns 0 for a missing counter and `None` for a value that is not a number.
fn count(value: Option<&Value>) -> Option<u64> {
    value.map_or(Some(0), Value::as_u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_counters_are_zero() {
        assert_eq!(SuricataCounters::read(&json!({})), Some(SuricataCounters::default()));
        assert_eq!(SuricataCounters::read(&json!([])), None);
        assert_eq!(SuricataCounters::read(&json!({"decoder": {"pkts": "many"}})), None);
    }

    #[test]
    fn sums_counters_of_the_same_subject() {
        let stats = json!({
            "uptime": 16,
            "decoder": {"pkts": 10, "bytes": 5000},
            "ips": {"accepted": 8, "blocked": 2},
            "detect": {"alert": 3, "alert_queue_overflow": 1, "alerts_suppressed": 1,
                "engines": [{"id": 0, "rules_loaded": 40, "rules_failed": 2},
                    {"id": 1, "rules_loaded": 2}]},
            "tcp": {"ssn_memcap_drop": 1, "segment_memcap_drop": 2, "pkt_on_wrong_thread": 9},
            "flow": {"memcap": 4, "end": {"state": {"local_bypassed": 4, "capture_bypassed": 2}}},
            "defrag": {"max_trackers_reached": 8},
            "flow_bypassed": {"local_pkts": 1, "local_capture_pkts": 2},
            "capture": {"kernel_drops": 11}
        });
        let counters = SuricataCounters::read(&stats).unwrap();
        assert_eq!(counters.memory_drops, 15);
        assert_eq!(counters.alerts_lost, 2);
        assert_eq!(counters.bypassed_packets, 3);
        assert_eq!(counters.rules, Some(RuleCounts { loaded: 42, failed: 2 }));
        assert_eq!((counters.uptime_s, counters.blocked, counters.wrong_thread), (16, 2, 9));
        assert_eq!((counters.capture_drops, counters.bypassed_flows), (11, 6));
    }
}
