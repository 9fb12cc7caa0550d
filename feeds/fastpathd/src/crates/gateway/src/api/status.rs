// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `status` and the payload of the notification `tick`.

use flows::{Ratio, Totals};
use serde::Serialize;

use crate::api::health::{Finding, findings};
use crate::configuration::Problem;
use crate::core::Core;
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

/// The answer of `status`.
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

/// The payload of the notification `tick`.
#[derive(Debug, Serialize)]
pub struct Tick<'a> {
    epoch: u64,
    #[serde(flatten)]
    live: Live<'a>,
}

fn live(core: &Core) -> Live<'_> {
    let wan = core.network.wans(core.sys.rates(), core.now);
    let Totals { paths, local_flows, ended_flows, ratio } = core.conntrack.flows().totals();
    Live {
        now_ms: core.now.unix_ms,
        engine: core.offload.report(core.now),
        paths,
        local_flows,
        ended_flows,
        ratio,
        health: findings(core, &wan),
        wan,
        cpu: core.sys.load(),
        ips: summary(core),
    }
}

pub(crate) fn status(core: &Core) -> Status<'_> {
    let (machine, configuration) = (core.sys.machine(), &core.configuration);
    let refresh = core.conntrack.refresh();
    let live = live(core);
    Status {
        version: env!("CARGO_PKG_VERSION"),
        kernel: &machine.kernel,
        hostname: core.sys.hostname(),
        started_ms: core.now.unix_ms_at(machine.started),
        conntrack: ConntrackState {
            count: core.conntrack.flows().len(),
            total: core.conntrack_total(),
            limit: core.sys.facts().conntrack_max,
            unlisted: core.conntrack.flows().unlisted(),
            refused: core.sys.facts().refused,
            refresh_ms: refresh.interval().as_millis(),
            dump_ms: refresh.took().as_millis(),
            resyncs: refresh.resyncs(),
        },
        latency: latency(core),
        doctor: core.doctor_answer(&live.health),
        live,
        configuration: InUse { digest: configuration.digest(), refused: configuration.refused() },
        problems: configuration.problems(),
    }
}

pub fn tick(core: &Core) -> Tick<'_> {
    Tick { epoch: core.conntrack.flows().epoch(), live: live(core) }
}
