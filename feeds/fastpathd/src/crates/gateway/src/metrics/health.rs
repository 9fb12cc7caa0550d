// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of health: conditions, findings of the doctor, deviations from the CPU plan.

use ::health::Level;
use metrics::Metrics;

use crate::api::Subsystems;
use crate::api::health::{doctor_summary, findings};
use crate::metrics::seconds;

pub(super) fn add<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let wans = state.network.wans(state.sys.rates(), state.now);
    let found = findings(state, &wans);
    let family = metrics.gauge("fastpath_health_conditions", "Conditions of status by level.");
    for level in Level::ALL {
        let number = found.iter().filter(|finding| finding.level == level).count();
        family.add([("level", level.name())], number);
    }
    if let Some(report) = doctor_summary(state, &found) {
        let counts = &report.counts;
        let help = "Checks of the doctor's last run by result; accepted findings are not counted \
                    by severity, and findings that have ended since are ok.";
        let family = metrics.gauge("fastpath_doctor_findings", help);
        for (severity, number) in [
            ("error", counts.error),
            ("warning", counts.warning),
            ("advice", counts.advice),
            ("info", counts.info),
            ("unknown", counts.unknown),
            ("ok", counts.ok),
            ("accepted", counts.accepted),
        ] {
            family.add([("severity", severity)], number);
        }
        metrics
            .gauge("fastpath_doctor_run_timestamp_seconds", "When the doctor last ran.")
            .add([], seconds(report.at_ms));
    }
    if let Some(deviations) = state.cpu.deviations() {
        let help = "Affinities and maps of CPUs that differ from the CPU plan.";
        metrics.gauge("fastpath_cpu_plan_deviations", help).add([], deviations);
    }
}
