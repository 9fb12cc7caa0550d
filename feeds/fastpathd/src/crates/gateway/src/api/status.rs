// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `status` and the payload of the notification `tick`.

use flows::{Ratio, Totals};
use serde::Serialize;

use crate::api::Subsystems;
use crate::api::health::{Finding, doctor, findings};
use crate::configuration::Problem;
use crate::devices::settings::SsidOff;
use crate::doctor::Doctor;
use crate::ips::answer::{Summary, summary};
use crate::latency::answer::{Latency, latency};
use crate::network::wan::Wan;
use crate::offload::flowtable::EngineReport;
use crate::sys::load::Load;

/// Fields that `status` and `tick` share.
#[derive(Debug, Serialize)]
struct Live<'a> {
    now_ms: u64,
    engine: EngineReport,
    paths: flows::Paths,
    local_flows: u64,
    ended_flows: u64,
    ratio: Ratio,
    wan: Vec<Wan>,
    cpu: &'a [Load],
    ips: Summary<'a>,
    health: Vec<Finding>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Status<'a> {
    version: &'static str,
    kernel: &'a str,
    hostname: &'a str,
    started_ms: u64,
    #[serde(flatten)]
    live: Live<'a>,
    conntrack: ConntrackState,
    latency: Latency,
    doctor: Doctor,
    configuration: InUse<'a>,
    problems: &'a [Problem],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ssids_off: Vec<SsidOff>,
}

/// Digests of the configuration in use, and of a newer one that was refused.
#[derive(Debug, Serialize)]
struct InUse<'a> {
    digest: &'a str,
    refused: &'a str,
}

#[derive(Debug, Serialize)]
struct ConntrackState {
    count: usize,
    total: u64,
    limit: u64,
    unlisted: usize,
    refused: u64,
    refresh_ms: u128,
    dump_ms: u128,
    resyncs: u64,
}

#[derive(Debug, Serialize)]
pub struct Tick<'a> {
    epoch: u64,
    #[serde(flatten)]
    live: Live<'a>,
}

fn live(state: Subsystems<'_>) -> Live<'_> {
    let wan = state.network.wans(state.sys.rates(), state.now);
    let Totals { paths, local_flows, ended_flows, ratio } = state.conntrack.flows().totals();
    Live {
        now_ms: state.now.unix_ms,
        engine: state.offload.report(state.now),
        paths,
        local_flows,
        ended_flows,
        ratio,
        health: findings(state, &wan),
        wan,
        cpu: state.sys.load(),
        ips: summary(state.ips, state.rules.checked_ms()),
    }
}

pub(crate) fn status(state: Subsystems<'_>) -> Status<'_> {
    let (machine, configuration) = (state.sys.machine(), state.configuration);
    let refresh = state.conntrack.refresh();
    let live = live(state);
    Status {
        version: env!("CARGO_PKG_VERSION"),
        kernel: &machine.kernel,
        hostname: state.sys.hostname(),
        started_ms: state.now.unix_ms_at(machine.started),
        conntrack: ConntrackState {
            count: state.conntrack.flows().len(),
            total: state.conntrack_total(),
            limit: state.sys.facts().conntrack_max,
            unlisted: state.conntrack.flows().unlisted(),
            refused: state.sys.facts().refused,
            refresh_ms: refresh.interval().as_millis(),
            dump_ms: refresh.took().as_millis(),
            resyncs: refresh.resyncs(),
        },
        latency: latency(state.latency),
        doctor: doctor(state, &live.health),
        live,
        configuration: InUse { digest: configuration.digest(), refused: configuration.refused() },
        problems: configuration.problems(),
        ssids_off: state.devices.ssids_in_force(),
    }
}

pub(crate) fn tick(state: Subsystems<'_>) -> Tick<'_> {
    Tick { epoch: state.conntrack.flows().epoch(), live: live(state) }
}
