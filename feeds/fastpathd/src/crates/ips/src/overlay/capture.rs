// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders the capture method: NFQUEUE, or `AF_PACKET` on taps or on a bridge of two ports.

use super::{Overlay, bypass_mark};
use model::{FailPolicy, InspectionMode};

use crate::settings::Settings;

/// Factor between `max-pending-packets` and Suricata's queue limit.
const BURST: u32 = 4;

pub(super) fn render(overlay: &Overlay<'_>) -> String {
    let settings = overlay.settings;
    let pending = settings.queue_length.div_ceil(BURST);
    // With `false`, flows do not depend on the ingress port: both directions of a flow may arrive
    // on different ports or queues.
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

/// In mode accept, the verdict ends our chain, and the next chain sees the mark. `fail-open` must
/// be present, because Suricata otherwise reads an uninitialised variable. `batchcount` must be
/// absent, because a batch of verdicts has no mark for each packet.
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

/// Each worker reads from one port and writes to the other, so each port gets half of them.
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

/// First cluster id. Each port needs a unique id.
const CLUSTER: usize = 99;
