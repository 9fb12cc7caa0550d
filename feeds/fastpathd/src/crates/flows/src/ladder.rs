// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides path and reason of a flow with a ladder of conditions, called rungs. The first condition
//! that holds decides.
//!
//! The rungs have the order of the kernel's checks (`nft_flow_offload_eval` in
//! `net/netfilter/nft_flow_offload.c`), so that the reason matches the check that failed.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use std::cell::OnceCell;
use std::time::Duration;

use ctnetlink::{Status, TcpState};
use model::Engine;

use crate::handshake::OffloadState;
use crate::inspection::InspectionStatus;
use crate::network::{Reach, Side, less, reach};
use crate::path::{Path, Reason};
use crate::proto::{TCP, UDP};

/// Idle time after which the kernel removes a flow from the flowtable (`NF_FLOW_TIMEOUT`,
/// `net.netfilter.nf_flowtable_{tcp,udp}_timeout`).
const FLOWTABLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Activity after which a slow flow counts as refused, because the kernel would have offloaded it
/// with the next packet. Longer than the refresh interval of the counters.
const OFFLOAD_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, one rung each")]
pub struct Facts<'a> {
    pub engine: Engine,
    /// [`InspectionStatus::None`] also for flows that are not forwarded.
    pub inspection: InspectionStatus,
    pub status: Status,
    pub offload: OffloadState,
    /// One end is the router.
    pub local: bool,
    pub multicast: bool,
    pub proto: u8,
    pub helper: bool,
    pub seq_adjust: bool,
    pub excluded: bool,
    pub limited: bool,
    /// Packets reach a foreign rule that acts on each packet.
    pub rule_per_packet: bool,
    pub encrypted: bool,
    pub roaming: bool,
    /// The flow is offloaded, but the stack forwards most packets of one direction.
    pub missed: bool,
    /// The flow has fewer packets than the configuration keeps on the slow path.
    pub first_packets: bool,
    pub tcp_state: Option<TcpState>,
    pub route_asked: bool,
    /// The route cannot be determined.
    pub policy_routed: bool,
    /// Side of the initiator; `None` without a route.
    pub initiator: Option<&'a Side>,
    /// Side of the responder, after destination NAT; `None` without a route.
    pub responder: Option<&'a Side>,
    /// Whether the CPU receives packets from and to the initiator, although a driver has taken the
    /// flow; `None` if unknown.
    pub by_cpu: [Option<bool>; 2],
    /// The driver's table is full.
    pub hardware_full: bool,
    /// Time that a flowtable has held the flow.
    pub taken_for: Duration,
    pub quiet: Duration,
    /// Time between becoming eligible and the last packet.
    pub active_for: Duration,
}

/// Path, and the reason for the slow path or inspection.
pub type Verdict = (Path, Option<Reason>);

/// Condition, and the reason of a flow that meets it.
type Rung = (fn(&Facts<'_>) -> bool, Reason);

/// Conditions that prevent offloading, checked after inspection.
const KEPT: [Rung; 23] = [
    // Flows are added in the forward hook, which local packets do not pass
    // (`nft_flow_offload_validate`).
    (|flow| flow.local, Reason::Local),
    // Multicast is routed by `ip_mr_forward`; a flowtable entry has one next hop.
    (|flow| flow.multicast, Reason::Multicast),
    (|flow| flow.engine == Engine::Off, Reason::EngineOff),
    // `nft_flow_offload_eval` accepts TCP, UDP and, since Linux 6.2, GRE without NAT, but our rule
    // does not add GRE.
    (|flow| !matches!(flow.proto, TCP | UDP), Reason::UnsupportedProtocol),
    // `nf_ct_ext_exist(ct, NF_CT_EXT_HELPER)`: the helper must see every packet.
    (|flow| flow.helper, Reason::Helper),
    // `ct->status & IPS_SEQ_ADJUST`: the flowtable does not rewrite sequence numbers.
    (|flow| flow.seq_adjust, Reason::SequenceAdjust),
    // Our rule set returns before `flow add`.
    (|flow| flow.excluded, Reason::Excluded),
    // Our rule set neither records nor adds flows of hosts with a limit.
    (|flow| flow.limited, Reason::Limited),
    // Our rule set does not mark the packets as passed.
    (|flow| flow.rule_per_packet, Reason::RulePerPacket),
    // Our rule set returns before `flow add` and before the mark for eBPF.
    (|flow| flow.encrypted, Reason::Ipsec),
    // FIN and RST tear a flow down (`nf_flow_state_check`), and a closing connection is not added.
    // Must precede `not_established`, which also holds.
    (ending, Reason::Closing),
    (not_established, Reason::NotEstablished),
    (route_asked, Reason::Pending),
    (policy_routed, Reason::PolicyRouted),
    // `nft_flow_route`: a flow needs a route in both directions.
    (|flow| flow.initiator.is_none() || flow.responder.is_none(), Reason::NoRoute),
    // The flowtable does not list the tunnel, so packets miss the entry. Must precede `no_device`,
    // which also holds.
    (|flow| sides(flow).any(|side| side.tunnel && !side.held()), Reason::Tunnel),
    (no_device, Reason::NoDevice),
    // Our rule set returns before `flow add`.
    (|flow| sides(flow).any(|side| side.encapsulated), Reason::Encapsulated),
    // `nft_dev_fill_forward_path` resolves the path through bridge and VLAN only with a valid
    // neighbour; otherwise packets miss the entry.
    (|flow| sides(flow).any(|side| !side.neighbour), Reason::NoNeighbour),
    (same_side, Reason::SameSide),
    (shaped, Reason::Shaped),
    // Our rule set returns before `flow add`.
    (roaming, Reason::Roaming),
    // `flow_offload_lookup` compares ingress device and tags, and `nf_flow_tuple_ip` skips
    // fragments and packets with IP options.
    (|flow| flow.missed, Reason::EntryMissed),
];

#[must_use]
pub fn climb(facts: &Facts<'_>) -> Verdict {
    Climb::new(*facts).verdict(facts.offload)
}

/// Evaluates the ladder for one flow. Caches the result of [`KEPT`], which does not depend on the
/// handshake state.
pub(crate) struct Climb<'a> {
    facts: Facts<'a>,
    kept: OnceCell<Option<Verdict>>,
}

impl<'a> Climb<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        Self { facts, kept: OnceCell::new() }
    }

    /// Returns the verdict of inspection, or of the first rung of [`KEPT`] that holds.
    fn kept(&self) -> Option<Verdict> {
        *self.kept.get_or_init(|| {
            let kept = || KEPT.iter().find(|(holds, _)| holds(&self.facts));
            inspected(&self.facts).or_else(|| kept().map(|(_, reason)| (Path::Slow, Some(*reason))))
        })
    }

    pub(crate) fn may_use_ebpf(&self) -> bool {
        self.facts.engine == Engine::Ebpf
            && sides(&self.facts).all(|side| side.in_ebpf)
            && self.kept().is_none()
    }

    pub(crate) fn verdict(&self, offload: OffloadState) -> Verdict {
        let facts = Facts { offload, ..self.facts };
        fast_path(&facts)
            .or_else(|| ended(&facts))
            .or_else(|| self.kept())
            .unwrap_or_else(|| (Path::Slow, Some(waiting(&facts))))
    }
}

fn sides<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Side> {
    [facts.initiator, facts.responder].into_iter().flatten()
}

/// Returns the path of an offloaded flow; `None` if it is not offloaded.
///
/// `nft_flow_offload_eval` sets `IPS_OFFLOAD`, `flow_offload_teardown` clears it, and
/// `flow_offload_work_add` sets `IPS_HW_OFFLOAD` if a driver accepts at least one direction. With
/// our engine off, the bits are from the flowtable of another program.
///
/// The bits are not sufficient: packets may miss the entry, the kernel adds flows whose devices the
/// flowtable does not list, and a driver may accept a rule for ports of another driver, accept one
/// direction only, or lose the flow.
fn fast_path(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.offload == OffloadState::Offloaded {
        return Some((Path::Ebpf, None));
    }
    let ends = reach([facts.initiator, facts.responder]);
    let foreign = facts.engine == Engine::Off;
    let reach = if foreign { [Reach::Hardware; 2] } else { less(ends, facts.by_cpu) };
    let path = offloaded(facts.status, reach);
    path.filter(|_| !facts.missed).map(|path| (path, outside_hardware(facts, path, ends)))
}

/// Returns why a flow between ports with hardware offload is not in hardware. A driver takes a flow
/// shortly after the flowtable.
fn outside_hardware(facts: &Facts<'_>, path: Path, ends: [Reach; 2]) -> Option<Reason> {
    let known = |side: Option<&Side>| side.is_some_and(|side| side.hardware == Some(true));
    let able = facts.engine == Engine::FlowtableHw
        && ends == [Reach::Hardware; 2]
        && known(facts.initiator)
        && known(facts.responder);
    if path != Path::Flowtable || !able || facts.taken_for < OFFLOAD_TIMEOUT {
        return None;
    }
    Some(if facts.status.has(Status::HW_OFFLOAD) {
        // The CPU receives both directions; otherwise the path would be hardware.
        Reason::HwLost
    } else if facts.hardware_full {
        Reason::HwTableFull
    } else {
        Reason::HwRefused
    })
}

/// Returns the better path of both directions according to the status bits; `None` if slow.
pub(crate) fn offloaded(status: Status, reach: [Reach; 2]) -> Option<Path> {
    let best = reach[0].max(reach[1]);
    if status.has(Status::HW_OFFLOAD) && best == Reach::Hardware {
        return Some(Path::Hardware);
    }
    let held = status.has(Status::OFFLOAD) || status.has(Status::HW_OFFLOAD);
    (held && best != Reach::Stack).then_some(Path::Flowtable)
}

pub(crate) fn direction(path: Path, reach: Reach) -> Path {
    match (path, reach) {
        (Path::Hardware | Path::Flowtable, Reach::Stack) => Path::Slow,
        (Path::Hardware, Reach::Software) => Path::Flowtable,
        (Path::Ended | Path::Slow | Path::Inspect | Path::Ebpf, _)
        | (Path::Flowtable, Reach::Software | Reach::Hardware)
        | (Path::Hardware, Reach::Hardware) => path,
    }
}

/// Returns the verdict of a closed connection. Local flows keep their reason.
fn ended(facts: &Facts<'_>) -> Option<Verdict> {
    let forwarded = !facts.local && !facts.multicast;
    (forwarded && is_over(facts)).then_some((Path::Ended, None))
}

/// Returns whether the connection was reset, closed by both sides, or removed from conntrack.
fn is_over(facts: &Facts<'_>) -> bool {
    use TcpState::{Close, LastAck, TimeWait};
    let over = matches!(facts.tcp_state, Some(LastAck | TimeWait | Close));
    (facts.proto == TCP && over) || facts.status.has(Status::DYING)
}

/// Returns the verdict of inspection. Its rules (chain `ips`) precede the rules that add flows
/// (chain `fastpath`). A closing connection stays in inspection, with reason `Closing`.
fn inspected(facts: &Facts<'_>) -> Option<Verdict> {
    let (path, reason) = match facts.inspection {
        InspectionStatus::Always => return Some((Path::Inspect, Some(Reason::AlwaysInspected))),
        InspectionStatus::Inspecting => (Path::Inspect, Reason::Inspecting),
        InspectionStatus::Uninspected => (Path::Slow, Reason::Uninspected),
        InspectionStatus::Stopped => (Path::Slow, Reason::Stopped),
        InspectionStatus::None | InspectionStatus::Bypassed | InspectionStatus::Spent => {
            return None;
        }
    };
    Some((path, Some(if ending(facts) { Reason::Closing } else { reason })))
}

fn ending(facts: &Facts<'_>) -> bool {
    use TcpState::{CloseWait, FinWait};
    facts.proto == TCP && matches!(facts.tcp_state, Some(FinWait | CloseWait))
}

/// Returns whether the kernel or our rule (`ct state established`) rejects the state of the
/// connection (`nf_conntrack_tcp_established`). An unknown TCP state counts as established, because
/// entries of offloaded flows have none.
fn not_established(facts: &Facts<'_>) -> bool {
    let handshake =
        facts.proto == TCP && facts.tcp_state.is_some_and(|state| state != TcpState::Established);
    handshake || !facts.status.has(Status::SEEN_REPLY)
}

/// Returns whether an unknown route prevents offloading. eBPF needs to know the route, but the
/// kernel sets the route of a flowtable entry.
fn policy_routed(facts: &Facts<'_>) -> bool {
    facts.policy_routed && needs_route(facts)
}

fn route_asked(facts: &Facts<'_>) -> bool {
    facts.route_asked && needs_route(facts)
}

fn needs_route(facts: &Facts<'_>) -> bool {
    let both = facts.initiator.zip(facts.responder);
    let theirs = both.is_some_and(|(a, b)| a.in_flowtable && b.in_flowtable);
    facts.engine == Engine::Ebpf && !theirs
}

/// Returns whether the lowest device of a side belongs to no engine (`nft_flowtable_find_dev`), or
/// both sides to different engines. Behind a bridge, the device is unknown without a neighbour, and
/// the reason is `NoNeighbour`.
fn no_device(facts: &Facts<'_>) -> bool {
    let unheld = |side: &Side| !side.held() && (side.neighbour || !side.port.is_empty());
    sides(facts).any(unheld) || divided(facts)
}

fn divided(facts: &Facts<'_>) -> bool {
    facts.engine == Engine::Ebpf
        && sides(facts).any(|side| side.in_ebpf)
        && sides(facts).any(|side| side.in_flowtable)
}

/// Returns whether both ends are behind the same device and VLAN: bridged, or a hairpin. eBPF can
/// forward a hairpin if the addresses are translated, because such packets are never bridged.
fn same_side(facts: &Facts<'_>) -> bool {
    let translated = facts.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
    let ours = translated && sides(facts).all(|side| side.in_ebpf);
    let same = |(a, b): (&Side, &Side)| a.device == b.device && a.vlan == b.vlan;
    !ours && facts.initiator.zip(facts.responder).is_some_and(same)
}

/// Returns whether offloading would bypass a queueing discipline. The eBPF engine checks this
/// itself.
fn shaped(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && sides(facts).any(|side| side.shaped)
}

/// Returns whether roaming prevents offloading. eBPF entries of a single host can be removed, but
/// not those of a flowtable.
fn roaming(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && facts.roaming
}

/// Returns the reason of a flow that could be offloaded but is not.
fn waiting(facts: &Facts<'_>) -> Reason {
    match facts.offload {
        OffloadState::Refused(reason) => reason,
        OffloadState::Idle
        | OffloadState::Requested
        | OffloadState::Confirming
        | OffloadState::Offloaded => {
            if facts.first_packets {
                // Not a rung, because eBPF offload depends on the mark, which is reported before
                // the next counter reading.
                Reason::FirstPackets
            } else if facts.quiet >= FLOWTABLE_TIMEOUT {
                // `nf_flow_offload_gc_step` removed the entry.
                Reason::Idle
            } else if facts.active_for < OFFLOAD_TIMEOUT {
                Reason::Pending
            } else {
                Reason::NotTaken
            }
        }
    }
}
