// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's own counters, of its `stats` events and of command `dump-counters` alike.

use serde::Deserialize;
use serde_json::Value;

use crate::health::Rules;

/// What is shown of them. All since Suricata's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Seconds since Suricata's start; the command's answer has none.
    pub uptime_s: u64,
    /// Packets decoded.
    pub packets: u64,
    /// Bytes decoded.
    pub bytes: u64,
    /// Packets that it let pass.
    pub accepted: u64,
    /// Packets that it dropped.
    pub blocked: u64,
    /// Rules that fired.
    pub alerts: u64,
    /// Alerts that were not written because a packet had too many, or were suppressed.
    pub alerts_lost: u64,
    /// Packets that the kernel could not hand to a tap.
    pub capture_drops: u64,
    /// Packets of flows that were let go and still came in.
    pub bypassed_packets: u64,
    /// Flows that it let go; counted when they are forgotten, minutes later.
    pub bypassed_flows: u64,
    /// Packets and streams that found no memory, in all tables.
    pub memory_drops: u64,
    /// Segments handled by another thread than their flow's.
    pub wrong_thread: u64,
    /// Rules in force and refused, if the counters tell.
    pub rules: Option<Rules>,
}

/// Counters are flat objects by subject. What is absent is zero: Suricata leaves zeros out.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Raw {
    uptime: u64,
    decoder: Decoder,
    ips: Verdicts,
    detect: Detect,
    capture: Capture,
    flow_bypassed: Bypassed,
    tcp: Tcp,
    flow: Flows,
    defrag: Defrag,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Decoder {
    pkts: u64,
    bytes: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Verdicts {
    accepted: u64,
    blocked: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Detect {
    alert: u64,
    alert_queue_overflow: u64,
    alerts_suppressed: u64,
    engines: Vec<Engine>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Engine {
    rules_loaded: u64,
    rules_failed: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Capture {
    kernel_drops: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bypassed {
    local_pkts: u64,
    local_capture_pkts: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tcp {
    ssn_memcap_drop: u64,
    segment_memcap_drop: u64,
    pkt_on_wrong_thread: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Flows {
    memcap: u64,
    end: End,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct End {
    state: EndState,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EndState {
    local_bypassed: u64,
    capture_bypassed: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Defrag {
    max_trackers_reached: u64,
}

impl Counters {
    /// Reads the object of counters; none if it is no such object.
    #[must_use]
    pub fn read(stats: Value) -> Option<Self> {
        // A list would be taken for the fields in order.
        let object = Some(stats).filter(Value::is_object)?;
        serde_json::from_value(object).ok().map(Self::of)
    }

    fn of(raw: Raw) -> Self {
        let engines = raw.detect.engines;
        let sum = |of: fn(&Engine) -> u64| engines.iter().map(of).fold(0, u64::saturating_add);
        let rules = (!engines.is_empty()).then(|| Rules {
            loaded: sum(|engine| engine.rules_loaded),
            failed: sum(|engine| engine.rules_failed),
        });
        let memory = [
            raw.tcp.ssn_memcap_drop,
            raw.tcp.segment_memcap_drop,
            raw.flow.memcap,
            raw.defrag.max_trackers_reached,
        ];
        Self {
            uptime_s: raw.uptime,
            packets: raw.decoder.pkts,
            bytes: raw.decoder.bytes,
            accepted: raw.ips.accepted,
            blocked: raw.ips.blocked,
            alerts: raw.detect.alert,
            alerts_lost: raw
                .detect
                .alert_queue_overflow
                .saturating_add(raw.detect.alerts_suppressed),
            capture_drops: raw.capture.kernel_drops,
            bypassed_packets: raw
                .flow_bypassed
                .local_pkts
                .saturating_add(raw.flow_bypassed.local_capture_pkts),
            bypassed_flows: {
                let ended = raw.flow.end.state;
                ended.local_bypassed.saturating_add(ended.capture_bypassed)
            },
            memory_drops: memory.into_iter().fold(0, u64::saturating_add),
            wrong_thread: raw.tcp.pkt_on_wrong_thread,
            rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_counters_are_zero() {
        assert_eq!(Counters::read(json!({})), Some(Counters::default()));
        assert_eq!(Counters::read(json!([])), None);
        assert_eq!(Counters::read(json!({"decoder": {"pkts": "many"}})), None);
    }

    #[test]
    fn counters_of_one_subject_are_added_up() {
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
        let counters = Counters::read(stats).unwrap();
        assert_eq!(counters.memory_drops, 15);
        assert_eq!(counters.alerts_lost, 2);
        assert_eq!(counters.bypassed_packets, 3);
        assert_eq!(counters.rules, Some(Rules { loaded: 42, failed: 2 }));
        assert_eq!((counters.uptime_s, counters.blocked, counters.wrong_thread), (16, 2, 9));
        assert_eq!((counters.capture_drops, counters.bypassed_flows), (11, 6));
    }
}
