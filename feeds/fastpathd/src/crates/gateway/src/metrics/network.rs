// SPDX-License-Identifier: GPL-2.0-or-later
//! Metrics of conntrack (use, lost events, cost of dumps) and of the WAN interfaces.

use std::borrow::Cow;

use metrics::Metrics;

use crate::api::Subsystems;
use crate::metrics::seconds;
use crate::network::wan::Wan;

const MAX_WANS: usize = 32;

pub(super) fn add<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    conntrack(state, metrics);
    let wans = state.network.wans(state.sys.rates(), state.now);
    wan(state, &wans[..wans.len().min(MAX_WANS)], metrics);
}

fn conntrack<'a>(state: Subsystems<'a>, metrics: &mut Metrics<'a>) {
    let (facts, refresh) = (state.sys.facts(), state.conntrack.refresh());
    metrics
        .gauge("fastpath_conntrack_entries", "Connections of conntrack.")
        .add([], state.conntrack_total());
    metrics
        .gauge("fastpath_conntrack_entries_limit", "Most connections of conntrack; 0: unknown.")
        .add([], facts.conntrack_max);
    let help = "Connections that conntrack refused or ended early because its table was full.";
    metrics.counter("fastpath_conntrack_refused_total", help).add([], facts.refused);
    let help = "Times that conntrack was read again because events were lost.";
    metrics.counter("fastpath_conntrack_resyncs_total", help).add([], refresh.resyncs());
    let (dumps, spent) = refresh.totals();
    metrics
        .counter("fastpath_conntrack_dumps_total", "Times that conntrack's table was read.")
        .add([], dumps);
    metrics
        .counter("fastpath_conntrack_dump_cpu_seconds_total", "CPU time of those readings.")
        .add([], spent.as_secs_f64());
    let help = "Time between two readings; it grows with their cost.";
    metrics
        .gauge("fastpath_conntrack_dump_interval_seconds", help)
        .add([], refresh.interval().as_secs_f64());
}

fn wan<'a>(state: Subsystems<'a>, wans: &[Wan], metrics: &mut Metrics<'a>) {
    let label = |wan: &Wan| [("interface", Cow::Owned(wan.name.clone()))];
    let family = metrics.gauge("fastpath_wan_up", "1 if the WAN interface is up.");
    for wan in wans {
        family.add_owned(label(wan), wan.up);
    }
    let help = "1 if the port below the WAN interface has a carrier.";
    let family = metrics.gauge("fastpath_wan_carrier", help);
    for wan in wans {
        family.add_owned(label(wan), wan.carrier);
    }
    let help = "How long the WAN interface has been up; 0: it is down.";
    let family = metrics.gauge("fastpath_wan_uptime_seconds", help);
    for wan in wans {
        let up = if wan.up { state.now.unix_ms.saturating_sub(wan.up_since_ms) } else { 0 };
        family.add_owned(label(wan), seconds(up));
    }
    let help = "Times that the WAN interface came up again since the daemon started.";
    let family = metrics.counter("fastpath_wan_reconnects_total", help);
    for wan in wans {
        family.add_owned(label(wan), state.network.reconnects(&wan.name));
    }
    let help = "Device, port and protocol of the WAN interface; always 1.";
    let family = metrics.gauge("fastpath_wan_info", help);
    for wan in wans {
        let [interface] = label(wan);
        let owned = |text: &str| Cow::Owned(text.to_owned());
        let labels = [
            interface,
            ("device", owned(&wan.device)),
            ("port", owned(&wan.port)),
            ("proto", owned(&wan.proto)),
        ];
        family.add_owned(labels, 1_u64);
    }
}
