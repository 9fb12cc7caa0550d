// SPDX-License-Identifier: GPL-2.0-or-later
//! Codes and texts of the doctor's refusals and of the steps of a fix.

use plugin::Refusal;

config::coded! {
    /// Reason for a refusal, or a step of a fix. `said` is a message of another program or of the
    /// operating system.
    pub enum DoctorReason {
        Busy = "doctor-busy",
            "the doctor is busy with other requests; try again in a few seconds";
        Ended = "doctor-ended", "the doctor ended early; see the log";
        // Method last.
        NoReport = "no-report", "not all checks have run since the router started";
        // Method fix.
        Nothing { check: String } = "nothing", "{check} does not report a problem any more";
        NoFix { check: String } = "no-fix", "{check} has no automatic fix; see its remedy";
        Failed { step: String, said: String } = "step", "{step}: {said}";
        // Steps.
        Write { text: String, path: String } = "write", "writing {text} to {path}";
        Run { program: &'static str, args: String } = "run", "{program} {args}";
        On { feature: &'static str, device: String } = "feature-on",
            "turning {feature} of {device} on";
        Off { feature: &'static str, device: String } = "feature-off",
            "turning {feature} of {device} off";
        Call { object: &'static str, method: &'static str } = "call", "calling {object} {method}";
        // Tables of hardware.
        NoDebugfs = "no-debugfs", "debugfs is not mounted";
        NoTable = "no-table", "no driver shows a hardware table in debugfs";
        // Method pmtu.
        Target { target: String } = "target",
            "the target '{target}' is not an IPv4 host address, such as 203.0.113.1";
        Silent { target: String, size: u16 } = "silent",
            "{target} does not answer an ICMP echo of {size} bytes: \
             choose a host that answers ping";
        Send { target: String, said: String } = "send",
            "sending an ICMP echo to {target}: {said}";
    }
}

impl From<DoctorReason> for Refusal {
    fn from(reason: DoctorReason) -> Self {
        let code = match &reason {
            DoctorReason::Busy => "busy",
            DoctorReason::NoReport | DoctorReason::NoDebugfs | DoctorReason::NoTable => "none",
            DoctorReason::Nothing { .. } => "nothing",
            DoctorReason::NoFix { .. } => "no-fix",
            DoctorReason::Target { .. } => "argument",
            DoctorReason::Silent { .. } => "silent",
            DoctorReason::Ended
            | DoctorReason::Failed { .. }
            | DoctorReason::Write { .. }
            | DoctorReason::Run { .. }
            | DoctorReason::On { .. }
            | DoctorReason::Off { .. }
            | DoctorReason::Call { .. }
            | DoctorReason::Send { .. } => "failed",
        };
        Refusal::new(code, reason)
    }
}
