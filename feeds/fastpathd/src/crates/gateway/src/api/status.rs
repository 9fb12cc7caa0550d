// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the answer of `status` and the payload of the notification `tick`.

use flows::{Ratio, Totals};
use serde::Serialize;

use crate::api::Subsystems;
use crate::api::health::{Finding, doctor, findings};
use crate::configuration::Problem;
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

fn live(of: Subsystems<'_>) -> Live<'_> {
    let wan = of.network.wans(of.sys.rates(), of.now);
    let Totals { paths, local_flows, ended_flows, ratio } = of.conntrack.flows().totals();
    Live {
        now_ms: of.now.unix_ms,
        engine: of.offload.report(of.now),
        paths,
        local_flows,
        ended_flows,
        ratio,
        health: findings(of, &wan),
        wan,
        cpu: of.sys.load(),
        ips: summary(of.ips, of.rules.checked_ms()),
    }
}

pub(crate) fn status(of: Subsystems<'_>) -> Status<'_> {
    let (machine, configuration) = (of.sys.machine(), of.configuration);
    let refresh = of.conntrack.refresh();
    let live = live(of);
    Status {
        version: env!("CARGO_PKG_VERSION"),
        kernel: &machine.kernel,
        hostname: of.sys.hostname(),
        started_ms: of.now.unix_ms_at(machine.started),
        conntrack: ConntrackState {
            count: of.conntrack.flows().len(),
            total: of.conntrack_total(),
            limit: of.sys.facts().conntrack_max,
            unlisted: of.conntrack.flows().unlisted(),
            refused: of.sys.facts().refused,
            refresh_ms: refresh.interval().as_millis(),
            dump_ms: refresh.took().as_millis(),
            resyncs: refresh.resyncs(),
        },
        latency: latency(of.latency),
        doctor: doctor(of, &live.health),
        live,
        configuration: InUse { digest: configuration.digest(), refused: configuration.refused() },
        problems: configuration.problems(),
    }
}

pub(crate) fn tick(of: Subsystems<'_>) -> Tick<'_> {
    Tick { epoch: of.conntrack.flows().epoch(), live: live(of) }
}
