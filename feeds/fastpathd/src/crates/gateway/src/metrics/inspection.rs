// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of intrusion prevention and of its rules.

use metrics::Metrics;

use crate::api::Subsystems;
use crate::metrics::seconds;
use crate::rules::RulesSummary;

/// Labels of alerts about packets that passed, and about dropped packets.
const ACTIONS: [&str; 2] = ["allowed", "blocked"];

pub(super) fn add<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    suricata(state, metrics);
    queues(state, metrics);
    verdicts(state, metrics);
    alerts(state, metrics);
    rules(state, metrics);
}

fn suricata<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let inspection = &state.ips.inspection();
    let current = inspection.condition().state;
    let family = metrics.gauge("fastpath_ips_state", "1 for the state of intrusion prevention.");
    for state in ips::State::ALL {
        family.add([("state", state.name())], state == current);
    }
    let seen = inspection.seen();
    metrics
        .gauge("fastpath_suricata_running", "1 if Suricata answers on its command socket.")
        .add([], seen.running && seen.answered.is_some());
    if !inspection.version().is_empty() {
        metrics
            .gauge("fastpath_suricata_info", "Version of Suricata; always 1.")
            .add([("version", inspection.version())], 1_u64);
    }
    metrics
        .counter("fastpath_suricata_restarts_total", "Restarts since the daemon started.")
        .add([], inspection.restarts());
}

fn queues<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let inspection = state.ips.inspection();
    let queues = &inspection.seen().queues;
    if queues.is_empty() {
        return;
    }
    let numbered = || inspection.queue_numbers().zip(queues);
    let label = |number: u16| [("queue", number.to_string().into())];
    let family = metrics.gauge("fastpath_ips_queue_bound", "1 if Suricata reads the queue.");
    for (number, queue) in numbered() {
        family.add_owned(label(number), queue.is_some());
    }
    let family = metrics.gauge("fastpath_ips_queue_depth", "Packets that wait in the queue.");
    for (number, queue) in numbered() {
        family.add_owned(label(number), queue.map_or(0, |queue| queue.depth));
    }
    let totals = inspection.queue_totals();
    let family = metrics.counter("fastpath_ips_queue_packets_total", "Packets with a verdict.");
    for (number, _) in numbered() {
        family.add_owned(label(number), totals.of(number).handled);
    }
    let help = "Packets lost because the queue or its reader's memory was full.";
    let family = metrics.counter("fastpath_ips_queue_dropped_packets_total", help);
    for (number, _) in numbered() {
        family.add_owned(label(number), totals.of(number).dropped);
    }
}

fn verdicts<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    const KINDS: [&str; 2] = ["inspected", "uninspected"];
    let inspection = state.ips.inspection();
    let counted = inspection.suricata_counters();
    let help = "Packets by Suricata's verdict, since its start.";
    let family = metrics.counter("fastpath_ips_verdict_packets_total", help);
    family.add([("verdict", "accepted")], counted.accepted);
    family.add([("verdict", "dropped")], counted.blocked);
    let help = "Packets that Suricata was given, or that passed uninspected.";
    let family = metrics.counter("fastpath_ips_packets_total", help);
    for (kind, packets) in KINDS.into_iter().zip(inspection.inspected()) {
        family.add([("kind", kind)], packets);
    }
    let help = "Packets that passed uninspected because a queue was full.";
    metrics.counter("fastpath_ips_queue_passed_packets_total", help).add([], inspection.overflow());
    let help = "Bytes for Suricata, a full queue included, or that passed uninspected.";
    let family = metrics.counter("fastpath_ips_bytes_total", help);
    for kind in KINDS {
        family.add([("kind", kind)], inspection.counter(kind).bytes);
    }
    let help = "Flows whose inspection ended: bypassed by Suricata, or with a spent budget.";
    let family = metrics.counter("fastpath_ips_released_flows_total", help);
    for kind in ["bypassed", "spent"] {
        family.add([("kind", kind)], inspection.counter(kind).packets);
    }
}

fn alerts<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let events = state.ips.events();
    let family = metrics.counter("fastpath_alerts_total", "Alerts by severity and action.");
    for (severity, numbers) in events.severities.counted() {
        for (action, number) in ACTIONS.into_iter().zip(numbers) {
            family.add([("severity", severity), ("action", action)], number);
        }
    }
    let help = "Alerts that were counted but not read, because of a rate limit.";
    let family = metrics.counter("fastpath_alerts_unread_total", help);
    let unread = [events.counts.not_read_alerts, events.counts.not_read_blocked];
    for (action, number) in ACTIONS.into_iter().zip(unread) {
        family.add([("action", action)], number);
    }
    let inspection = state.ips.inspection();
    metrics
        .gauge("fastpath_blocked_sources", "Sources that are blocked now.")
        .add([], inspection.active_blocks(state.now.mono));
    metrics
        .counter("fastpath_blocked_packets_total", "Packets of blocked sources.")
        .add([], inspection.counter("blocked").packets);
}

fn rules<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let current = state.rules.summary();
    let family = metrics.gauge("fastpath_rules_state", "1 for the state of the rule updates.");
    for state in RulesSummary::ALL {
        family.add([("state", state.name())], state == current);
    }
    let counted = state.ips.inspection().seen().rules.unwrap_or_default();
    let family = metrics.gauge("fastpath_rules", "Rules of Suricata, in force or refused by it.");
    family.add([("state", "loaded")], counted.loaded);
    family.add([("state", "failed")], counted.failed);
    let times = [
        (
            "fastpath_rules_updated_timestamp_seconds",
            "When the rules in force were made; absent: only built-in rules are in force.",
            state.rules.updated_ms(),
        ),
        (
            "fastpath_rules_checked_timestamp_seconds",
            "When their sources were last reached; absent: only built-in rules are in force.",
            state.rules.checked_ms(),
        ),
    ];
    for (name, help, ms) in times.into_iter().filter(|(_, _, ms)| *ms != 0) {
        metrics.gauge(name, help).add([], seconds(ms));
    }
}
