// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders how packets reach Suricata: by NFQUEUE, or by `AF_PACKET` on taps or a bridge of two
//! ports.

use super::{Overlay, bypass_mark};
use model::{FailPolicy, InspectionMode};

use crate::settings::Settings;

/// Suricata limits a queue to this many times `max-pending-packets`.
const BURST: u32 = 4;

pub(super) fn render(overlay: &Overlay<'_>) -> String {
    let settings = overlay.settings;
    let pending = settings.queue_length.div_ceil(BURST);
    // Flows must not depend on the ingress port: both directions of a flow arrive on different
    // ports (inline) or queues (fanout).
    let tracking = if settings.mode == InspectionMode::Ids { "true" } else { "false" };
    let common = format!(
        "
runmode: workers
max-pending-packets: {pending}

vlan:
  use-for-tracking: true

livedev:
  use-for-tracking: {tracking}
"
    );
    common
        + &match settings.mode {
            InspectionMode::Nfq => nfq(overlay),
            InspectionMode::Ids => taps(settings, overlay.threads.queues()),
            InspectionMode::Inline => bridge(settings, overlay.threads.queues()),
        }
}

/// In mode accept the verdict ends our chain of the hook, and the next chain sees the mark.
/// `fail-open` is always written, because Suricata reads an uninitialised variable without it.
/// `batchcount` is never written, because a batch of verdicts has no mark for each packet.
fn nfq(overlay: &Overlay<'_>) -> String {
    let mark = bypass_mark(overlay.mark_mask);
    let open = if overlay.settings.fail == FailPolicy::Open { "yes" } else { "no" };
    format!(
        "
nfq:
  mode: accept
  bypass-mark: {mark}
  bypass-mask: {mark}
  fail-open: {open}
"
    )
}

fn taps(settings: &Settings, threads: u16) -> String {
    let tap = |(index, device): (usize, &String)| {
        let cluster = CLUSTER + index;
        format!(
            "  - interface: \"{device}\"
    threads: {threads}
    cluster-id: {cluster}
    cluster-type: cluster_flow
    defrag: yes
    tpacket-v3: yes
"
        )
    };
    let taps = settings.devices.iter().enumerate().map(tap);
    ["\naf-packet:\n".to_owned()].into_iter().chain(taps).collect()
}

/// Every worker reads from one port and writes to the other, so each port gets half of them.
fn bridge(settings: &Settings, threads: u16) -> String {
    let [one, other] = settings.devices.as_slice() else {
        return String::new();
    };
    let threads = (threads / 2).max(1);
    let port = |from: &str, to: &str, cluster: usize| {
        format!(
            "  - interface: \"{from}\"
    threads: {threads}
    cluster-id: {cluster}
    cluster-type: cluster_flow
    defrag: no
    tpacket-v3: no
    copy-mode: ips
    copy-iface: \"{to}\"
"
        )
    };
    format!("\naf-packet:\n{}{}", port(one, other, CLUSTER), port(other, one, CLUSTER + 1))
}

/// First cluster id. Each port needs a unique one on this machine.
const CLUSTER: usize = 99;
