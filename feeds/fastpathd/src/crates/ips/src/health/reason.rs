// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons for the state of inspection, and effects on packets, with codes and English texts.

config::coded! {
    /// Why inspection is in its state. `said` is a message of Suricata or of the operating system.
    pub enum Reason {
        Off = "off", "Inspection is off.";
        Rejected { said: String } = "rejected",
            "Suricata rejected its configuration or rules: {said}";
        NotStarted { said: String } = "not-started", "Suricata cannot be started: {said}";
        Loading = "loading", "Suricata is loading its rules.";
        Absent = "absent", "Suricata is not running.";
        Crashed = "crashed", "Suricata crashed and is not running again yet.";
        NoQueue = "no-queue", "Suricata is running but has not bound any queue.";
        RulesPass = "rules-pass",
            "Suricata is ready; the firewall rules do not queue packets for it yet.";
        Hangs = "hangs",
            "Suricata is running but hangs: it does not process packets or answer commands.";
        NeverReady = "never-ready", "Suricata has been starting for minutes and is not ready.";
        Kept { said: String } = "kept",
            "Suricata keeps its previous configuration; the new one failed: {said}";
        Watching = "watching", "Suricata runs as an IDS and drops nothing.";
        Inline = "inline", "Suricata inspects traffic inline.";
        QueueDrops = "queue-drops", "Suricata cannot keep up: packets are dropped in its queues.";
        QueueFullOpen { n: u64 } = "queue-full-open",
            "Suricata cannot keep up. Packets that passed a full queue uninspected: {n}.";
        CaptureDrops = "capture-drops", "Suricata cannot keep up: packets are not inspected.";
        BridgeDrops = "bridge-drops",
            "Suricata cannot keep up: packets are dropped between the two ports.";
        QueuesOpen { bound: usize, all: usize } = "queues-open",
            "Suricata has bound {bound} of {all} queues: \
             connections in the others pass uninspected.";
        QueuesClosed { bound: usize, all: usize } = "queues-closed",
            "Suricata has bound {bound} of {all} queues: \
             connections in the others stop.";
        Lags = "lags", "Suricata lags: packets wait long for a verdict.";
        Late = "late", "Suricata processes packets but answers commands late.";
        NoEvents = "no-events", "No events arrive from Suricata: alerts are missing.";
        NoRules = "no-rules", "Suricata has no rules loaded.";
        RuleFailed = "rule-failed", "1 rule failed to load.";
        RulesFailed { n: u64 } = "rules-failed", "{n} rules failed to load.";
    }
}

config::coded! {
    /// The effect on packets while Suricata does not work.
    pub enum Consequence {
        Uninspected = "uninspected", "Connections pass uninspected.";
        Dropped = "dropped", "Connections to be inspected are dropped.";
        Unmonitored = "unmonitored", "Nothing is monitored.";
        NotForwarded = "not-forwarded", "Nothing is forwarded between the two ports.";
    }
}
