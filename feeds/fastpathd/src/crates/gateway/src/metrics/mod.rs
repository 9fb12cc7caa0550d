// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `metrics`: the daemon's state as metric families, in one file per subject.
//! Names and units follow Prometheus' rules, labels are the fields of other methods. The number of
//! series is bounded (`docs/design/metrics.md`).

use metrics::Metrics;

use crate::api::Subsystems;

mod forwarding;
mod health;
mod inspection;
mod network;
#[cfg(test)]
mod tests;

/// Returns all families that have a series.
pub(crate) fn metrics(state: Subsystems<'_>) -> Metrics<'_> {
    let mut metrics = Metrics::default();
    daemon(state, &mut metrics);
    forwarding::add(state, &mut metrics);
    network::add(state, &mut metrics);
    inspection::add(state, &mut metrics);
    health::add(state, &mut metrics);
    metrics.without_empty()
}

fn daemon<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    metrics
        .gauge("fastpath_build_info", "Version of the daemon; always 1.")
        .add([("version", env!("CARGO_PKG_VERSION"))], 1_u64);
    let started = seconds(state.now.unix_ms_at(state.sys.machine().started));
    metrics
        .gauge("fastpath_start_time_seconds", "Start of the daemon, Unix time.")
        .add([], started);
    metrics
        .counter("fastpath_cpu_seconds_total", "CPU time of the daemon.")
        .add([], state.cpu_time.as_secs_f64());
    let refused = !state.configuration.error().is_empty();
    metrics
        .gauge("fastpath_configuration_refused", "1 if /etc/config/fastpath cannot be used.")
        .add([], refused);
}

#[expect(clippy::cast_precision_loss, reason = "2^53 ms are 285,000 years")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
