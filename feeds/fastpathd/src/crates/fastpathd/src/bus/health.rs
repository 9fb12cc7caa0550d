// SPDX-License-Identifier: GPL-2.0-or-later
//! Findings that `status` shows: faults, and what the administrator should know.

use config::exposure::{Exposure, Opening};
use config::order;
use serde::Serialize;

use crate::core::Core;
use crate::network::wan::{Hindrance, Wan};
use crate::sys::kernel::Facts;

/// How bad it is, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Notice,
    Warning,
    Error,
}

/// One finding, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    pub(crate) level: Level,
    pub(crate) text: String,
    /// What is open to the Internet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) open: Vec<Open>,
}

/// One thing that everyone on the Internet can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Open {
    /// The zone that leads to the Internet.
    pub(crate) zone: String,
    /// The zone that is open from there; `*`: every zone, empty: the router itself.
    pub(crate) to: String,
}

/// All findings, worst first.
pub(crate) fn findings(core: &Core, wans: &[Wan]) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(open_to_internet(&core.network.firewall().exposures));
    let mut add =
        |code, level, text: String| found.push(Finding { code, level, text, open: Vec::new() });
    if !core.configuration.error().is_empty() {
        let text = format!("/etc/config/fastpath is not used: {}", core.configuration.error());
        add("config-refused", Level::Error, text);
    }
    let engine = core.offload.report();
    if engine.wanted != engine.active
        && core.configuration.settings().is_some()
        && core.offload.is_settled()
    {
        let text = format!(
            "The engine is {} although {} is wanted: {}",
            engine.active, engine.wanted, engine.why
        );
        add("engine-differs", Level::Error, text);
    } else if !engine.why.is_empty() && core.offload.is_settled() {
        add("nft-refused", Level::Error, format!("The last change was refused: {}", engine.why));
    }
    let bare = core.offload.ebpf().why();
    if !bare.is_empty() && engine.wanted == engine.active {
        add("ebpf-partly", Level::Warning, format!("Not every device has an eBPF program: {bare}"));
    }
    kernel(core.sys.facts(), &mut add);
    if core.network.firewall().own_offload {
        let text = "The firewall's own flow offloading is on; its rule comes first and takes flows \
                    away from ours. Set flow_offloading to 0 in /etc/config/firewall.";
        add("fw4-offload-on", Level::Warning, text.to_owned());
    }
    for wan in wans.iter().filter(|w| !w.up) {
        let name = &wan.name;
        match wan.hindrance {
            Hindrance::None => add("wan-down", Level::Error, format!("{name} is down.")),
            Hindrance::Disconnected => {
                let text = format!("{name} is disconnected: it was switched off.");
                add("wan-disconnected", Level::Warning, text);
            }
            Hindrance::PortDown => {
                let text = format!("{name} is down: its port {} is switched off.", wan.port);
                add("wan-down", Level::Error, text);
            }
            Hindrance::NoLink => {
                add("wan-down", Level::Error, format!("{name} is down: its port has no link."));
            }
        }
    }
    let (count, max) = (core.conntrack.flows().len() as u64, core.sys.facts().conntrack_max);
    if max > 0 && count * 10 > max * 9 {
        let text = format!("The connection table is nearly full: {count} of {max}.");
        add("conntrack-full", Level::Warning, text);
    }
    if core.conntrack.refresh().resyncs() > 0 {
        let text = format!(
            "Connection events were lost {} times since the start; everything was read again.",
            core.conntrack.refresh().resyncs()
        );
        add("resync", Level::Notice, text);
    }
    order::sort_by_key(&mut found, |f| std::cmp::Reverse(f.level));
    found
}

/// A policy or a rule of the firewall lets everyone in.
fn open_to_internet(exposures: &[Exposure]) -> Option<Finding> {
    let mut open = Vec::new();
    for Exposure { zone, opening, section: _, kind: _ } in exposures {
        let to = match opening {
            Opening::Router => String::new(),
            Opening::Zone(to) => to.clone(),
        };
        let found = Open { zone: zone.clone(), to };
        if !open.contains(&found) {
            open.push(found);
        }
    }
    if open.is_empty() {
        return None;
    }
    let words = |open: &Open| match open.to.as_str() {
        "" => format!("the router itself from zone {}", open.zone),
        "*" => format!("every zone from zone {}", open.zone),
        to => format!("zone {to} from zone {}", open.zone),
    };
    let reached: Vec<String> = open.iter().map(words).collect();
    let text = format!(
        "Open to the Internet: anybody there reaches {}. Close it in the firewall.",
        reached.join(", ")
    );
    Some(Finding { code: "open-to-internet", level: Level::Error, text, open })
}

fn kernel(facts: Facts, add: &mut impl FnMut(&'static str, Level, String)) {
    if facts.accounting == Some(false) {
        let text = "Connection accounting is off: flows have no byte counts and no rates. Set \
                    net.netfilter.nf_conntrack_acct to 1.";
        add("accounting-off", Level::Error, text.to_owned());
    }
    if facts.forwarding == Some(false) {
        let text = "Forwarding of IPv4 is off (net.ipv4.ip_forward).";
        add("forwarding-off", Level::Warning, text.to_owned());
    }
}
