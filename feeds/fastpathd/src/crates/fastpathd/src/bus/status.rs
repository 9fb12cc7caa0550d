// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon's answers in the shapes of `schema/*.json`.

use flows::{Ratio, Totals};
use serde::Serialize;

use crate::bus::health::{Finding, findings};
use crate::configuration::Problem;
use crate::core::Core;
use crate::ips::answer::{Summary, summary};
use crate::network::wan::Wan;
use crate::offload::flowtable::EngineReport;
use crate::sys::load::Load;

/// The answer of `status`.
#[derive(Debug, Serialize)]
pub(crate) struct Status<'a> {
    version: &'static str,
    kernel: &'a str,
    hostname: &'a str,
    now_ms: u64,
    started_ms: u64,
    engine: EngineReport,
    paths: flows::Paths,
    ratio: Ratio,
    conntrack: ConntrackState,
    wan: Vec<Wan>,
    cpu: &'a [Load],
    ips: Summary,
    configuration: InUse<'a>,
    problems: &'a [Problem],
    health: Vec<Finding>,
}

/// The configuration that the daemon works by.
#[derive(Debug, Serialize)]
struct InUse<'a> {
    digest: &'a str,
    refused: &'a str,
}

#[derive(Debug, Serialize)]
struct ConntrackState {
    count: usize,
    limit: u64,
    refresh_ms: u128,
    dump_ms: u128,
    resyncs: u64,
}

/// The payload of the notification `tick`.
#[derive(Debug, Serialize)]
pub(crate) struct Tick<'a> {
    now_ms: u64,
    epoch: u64,
    engine: EngineReport,
    paths: flows::Paths,
    ratio: Ratio,
    wan: Vec<Wan>,
    cpu: &'a [Load],
    ips: Summary,
    health: Vec<Finding>,
}

pub(crate) fn status(core: &Core) -> Status<'_> {
    let wan = core.network.wans(core.sys.rates());
    let Totals { paths, ratio } = core.conntrack.flows().totals();
    Status {
        version: env!("CARGO_PKG_VERSION"),
        kernel: &core.sys.machine().kernel,
        hostname: &core.sys.machine().hostname,
        now_ms: core.now.unix_ms,
        started_ms: core.sys.machine().started_ms,
        engine: core.offload.report(),
        paths,
        ratio,
        conntrack: ConntrackState {
            count: core.conntrack.flows().len(),
            limit: core.sys.facts().conntrack_max,
            refresh_ms: core.conntrack.refresh().interval().as_millis(),
            dump_ms: core.conntrack.refresh().took().as_millis(),
            resyncs: core.conntrack.refresh().resyncs(),
        },
        health: findings(core, &wan),
        wan,
        cpu: core.sys.load(),
        ips: summary(core),
        configuration: InUse {
            digest: core.configuration.digest(),
            refused: core.configuration.refused(),
        },
        problems: core.configuration.problems(),
    }
}

pub(crate) fn tick(core: &Core) -> Tick<'_> {
    let wan = core.network.wans(core.sys.rates());
    let Totals { paths, ratio } = core.conntrack.flows().totals();
    Tick {
        now_ms: core.now.unix_ms,
        epoch: core.conntrack.flows().epoch(),
        engine: core.offload.report(),
        paths,
        ratio,
        health: findings(core, &wan),
        wan,
        cpu: core.sys.load(),
        ips: summary(core),
    }
}
