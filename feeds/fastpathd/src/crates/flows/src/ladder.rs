// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides path and reason of a flow with a ladder of conditions; the first that holds decides.
//!
//! The order follows the kernel's own checks (`nft_flow_offload_eval` in
//! `net/netfilter/nft_flow_offload.c`) where it has one, so that the reported reason is the one
//! that came first.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use std::cell::OnceCell;
use std::time::Duration;

use ctnetlink::{Status, TcpState};
use model::Engine;

use crate::handshake::OffloadState;
use crate::inspection::InspectionStatus;
use crate::network::{Reach, Side, reach};
use crate::path::{Path, Reason};
use crate::proto::{TCP, UDP};

/// Idle time after which the kernel removes a flow from the flowtable (`NF_FLOW_TIMEOUT`,
/// `net.netfilter.nf_flowtable_{tcp,udp}_timeout`).
const FLOWTABLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The kernel offloads a flow with its next packet, so a flow that was active for longer than this
/// and is still slow has been refused. Exceeds any refresh interval of the counters.
const OFFLOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Facts about a flow that decide its path.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, one rung each")]
pub struct Facts<'a> {
    pub engine: Engine,
    /// `None` also for traffic that never passes the forward hook.
    pub inspection: InspectionStatus,
    pub status: Status,
    /// State in the handshake with the eBPF engine.
    pub offload: OffloadState,
    /// One end is the router.
    pub local: bool,
    /// The destination is multicast or broadcast.
    pub multicast: bool,
    /// Layer 4 protocol number.
    pub proto: u8,
    /// A conntrack helper is attached.
    pub helper: bool,
    /// Conntrack adjusts sequence numbers.
    pub seq_adjust: bool,
    /// An exclusion keeps the flow on the slow path.
    pub excluded: bool,
    /// Packets reach a rule of another program that acts on each packet.
    pub rule_per_packet: bool,
    /// The kernel encrypts the packets (IPsec).
    pub encrypted: bool,
    /// One end keeps moving.
    pub roaming: bool,
    /// The flow is offloaded, but the stack sees most packets of one direction.
    pub missed: bool,
    /// The first packets that the configuration keeps on the slow path have not all passed.
    pub first_packets: bool,
    /// `None` if the kernel does not report it.
    pub tcp_state: Option<TcpState>,
    /// The kernel was asked for the route and has not answered yet.
    pub route_asked: bool,
    /// The route depends on more than can be known.
    pub policy_routed: bool,
    /// Side of the initiator; `None` without a route.
    pub initiator: Option<&'a Side>,
    /// Side of the responder, after destination NAT; `None` without a route.
    pub responder: Option<&'a Side>,
    /// Time since the last packet.
    pub quiet: Duration,
    /// Time between becoming eligible and the last packet.
    pub active_for: Duration,
}

/// Path, and the reason if it is the slow path or inspection.
pub type Verdict = (Path, Option<Reason>);

/// Condition, and the reason why a flow that meets it stays slow.
type Rung = (fn(&Facts<'_>) -> bool, Reason);

/// Rungs below inspection that prevent offloading.
const KEPT: [Rung; 21] = [
    // Packets of the router pass INPUT and OUTPUT, but flows are added in FORWARD
    // (`nft_flow_offload_validate`: only `NF_INET_FORWARD`).
    (|flow| flow.local, Reason::Local),
    // Multicast is routed by `ip_mr_forward`; a flowtable entry has one next hop.
    (|flow| flow.multicast, Reason::Multicast),
    // Without an engine no rule adds flows. Comes after flows that no engine could forward.
    (|flow| flow.engine == Engine::Off, Reason::EngineOff),
    // `nft_flow_offload_eval` accepts TCP and UDP, and GRE without NAT since 6.2, which our rule
    // does not request.
    (|flow| !matches!(flow.proto, TCP | UDP), Reason::UnsupportedProtocol),
    // `nf_ct_ext_exist(ct, NF_CT_EXT_HELPER)`: the helper must see every packet.
    (|flow| flow.helper, Reason::Helper),
    // `ct->status & IPS_SEQ_ADJUST`: the flowtable does not rewrite sequence numbers.
    (|flow| flow.seq_adjust, Reason::SequenceAdjust),
    // Our rule set returns before `flow add`.
    (|flow| flow.excluded, Reason::Excluded),
    // Our rule set does not mark the packets as passed.
    (|flow| flow.rule_per_packet, Reason::RulePerPacket),
    // Our rule set returns before `flow add`, and before it marks the flow for eBPF.
    (|flow| flow.encrypted, Reason::Ipsec),
    // FIN and RST tear a flow down (`nf_flow_state_check`), and TCP past ESTABLISHED is not added.
    // Comes before `not_established`, which would hold as well.
    (ending, Reason::Closing),
    (not_established, Reason::NotEstablished),
    (route_asked, Reason::Pending),
    (policy_routed, Reason::PolicyRouted),
    // `nft_flow_route`: a flow needs a route in both directions.
    (|flow| flow.initiator.is_none() || flow.responder.is_none(), Reason::NoRoute),
    // The flowtable does not list the tunnel, so its packets miss the entry. Comes before
    // `no_device`, which would hold as well.
    (|flow| sides(flow).any(|side| side.tunnel && !side.held()), Reason::Tunnel),
    (no_device, Reason::NoDevice),
    // `nft_dev_fill_forward_path` needs a valid neighbour to learn the path through bridge and
    // VLAN; without one, packets miss the entry.
    (|flow| sides(flow).any(|side| !side.neighbour), Reason::NoNeighbour),
    (same_side, Reason::SameSide),
    (shaped, Reason::Shaped),
    // Our rule set returns before `flow add`.
    (roaming, Reason::Roaming),
    // `flow_offload_lookup` compares the ingress device and all tags, and `nf_flow_tuple_ip` leaves
    // fragments and packets with IP options to the stack.
    (|flow| flow.missed, Reason::EntryMissed),
];

/// Returns the verdict of the first rung that holds. A flow that passes all rungs could be
/// offloaded, but is not.
#[must_use]
pub fn climb(facts: &Facts<'_>) -> Verdict {
    Climb::new(*facts).verdict(facts.offload)
}

/// One flow on the ladder. [`KEPT`] is evaluated at most once: no rung depends on the handshake, so
/// its verdict holds before and after a step of it.
pub(crate) struct Climb<'a> {
    facts: Facts<'a>,
    kept: OnceCell<Option<Verdict>>,
}

impl<'a> Climb<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        Self { facts, kept: OnceCell::new() }
    }

    /// Returns the verdict of inspection or of the first rung of [`KEPT`] that holds.
    fn kept(&self) -> Option<Verdict> {
        *self.kept.get_or_init(|| {
            let kept = || KEPT.iter().find(|(holds, _)| holds(&self.facts));
            inspected(&self.facts).or_else(|| kept().map(|(_, reason)| (Path::Slow, Some(*reason))))
        })
    }

    /// Returns whether the eBPF engine may offload the flow: both sides have our program, and
    /// nothing prevents it.
    pub(crate) fn may_use_ebpf(&self) -> bool {
        self.facts.engine == Engine::Ebpf
            && sides(&self.facts).all(|side| side.in_ebpf)
            && self.kept().is_none()
    }

    /// Returns the verdict for the flow in this state of the handshake.
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

/// Returns the path of an offloaded flow. eBPF comes first, since nothing else forwards its flows.
///
/// `flow_offload_work_add` sets `IPS_HW_OFFLOAD` once a driver took at least one direction;
/// `nft_flow_offload_eval` sets `IPS_OFFLOAD` and `flow_offload_teardown` clears it. With our
/// engine off, the bits come from another program's flowtable.
///
/// The bits do not count if packets miss the entry, or if neither side's device is listed:
/// `nft_dev_forward_path` gives up, but the flow is added. `nf_flow_offload_tuple` offers a rule to
/// each driver, so one may take packets that enter or leave through another driver's port; software
/// forwards these.
fn fast_path(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.offload == OffloadState::Offloaded {
        return Some((Path::Ebpf, None));
    }
    let ends = reach([facts.initiator, facts.responder]);
    let foreign = facts.engine == Engine::Off;
    let path = offloaded(facts.status, if foreign { [Reach::Hardware; 2] } else { ends });
    path.filter(|_| !facts.missed).map(|path| (path, None))
}

/// Returns the path of the better direction by the status bits; `None` for the slow path.
pub(crate) fn offloaded(status: Status, reach: [Reach; 2]) -> Option<Path> {
    let best = reach[0].max(reach[1]);
    if status.has(Status::HW_OFFLOAD) && best == Reach::Hardware {
        return Some(Path::Hardware);
    }
    (status.has(Status::OFFLOAD) && best != Reach::Stack).then_some(Path::Flowtable)
}

/// Returns the path of one direction of a flow.
pub(crate) fn direction(path: Path, reach: Reach) -> Path {
    match (path, reach) {
        (Path::Hardware | Path::Flowtable, Reach::Stack) => Path::Slow,
        (Path::Hardware, Reach::Software) => Path::Flowtable,
        (Path::Ended | Path::Slow | Path::Inspect | Path::Ebpf, _)
        | (Path::Flowtable, Reach::Software | Reach::Hardware)
        | (Path::Hardware, Reach::Hardware) => path,
    }
}

/// A closed connection has no packets left to forward. Local flows stay local.
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

/// The rules of inspection (chain `ips`) come before the rules that add flows (chain `fastpath`)
/// and apply without a flowtable, too. A closing connection never leaves inspection, so `Closing`
/// is its reason.
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

/// Returns whether one side has sent FIN.
fn ending(facts: &Facts<'_>) -> bool {
    use TcpState::{CloseWait, FinWait};
    facts.proto == TCP && matches!(facts.tcp_state, Some(FinWait | CloseWait))
}

/// `nf_conntrack_tcp_established(ct)` for TCP, and a reply for TCP and UDP: our rule matches `ct
/// state established`. A TCP state that was never reported (the entry was offloaded when first
/// seen) counts as established once both directions were seen.
fn not_established(facts: &Facts<'_>) -> bool {
    let handshake =
        facts.proto == TCP && facts.tcp_state.is_some_and(|state| state != TcpState::Established);
    handshake || !facts.status.has(Status::SEEN_REPLY)
}

/// Our programs need to know the kernel's route. The kernel's flowtable keeps the routes that the
/// kernel found.
fn policy_routed(facts: &Facts<'_>) -> bool {
    facts.policy_routed && needs_route(facts)
}

/// Our programs offload nothing while the kernel's route is unknown.
fn route_asked(facts: &Facts<'_>) -> bool {
    facts.route_asked && needs_route(facts)
}

fn needs_route(facts: &Facts<'_>) -> bool {
    let both = facts.initiator.zip(facts.responder);
    let theirs = both.is_some_and(|(a, b)| a.in_flowtable && b.in_flowtable);
    facts.engine == Engine::Ebpf && !theirs
}

/// `nft_flowtable_find_dev`: the flowtable must list the lowest device of each side. Behind a
/// bridge that device is unknown without a neighbour, and the neighbour is then the reason.
fn no_device(facts: &Facts<'_>) -> bool {
    let unheld = |side: &Side| !side.held() && (side.neighbour || !side.port.is_empty());
    sides(facts).any(unheld) || divided(facts)
}

/// One side belongs to eBPF and the other to the flowtable, so neither sees both directions.
fn divided(facts: &Facts<'_>) -> bool {
    facts.engine == Engine::Ebpf
        && sides(facts).any(|side| side.in_ebpf)
        && sides(facts).any(|side| side.in_flowtable)
}

/// Returns whether both ends are behind the same device and VLAN: bridged or hairpin. Our programs
/// can hairpin translated packets, which are never bridged.
fn same_side(facts: &Facts<'_>) -> bool {
    let translated = facts.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
    let ours = translated && sides(facts).all(|side| side.in_ebpf);
    let same = |(a, b): (&Side, &Side)| a.device == b.device && a.vlan == b.vlan;
    !ours && facts.initiator.zip(facts.responder).is_some_and(same)
}

/// Our rule set returns before `flow add`. The eBPF engine checks bypassed queues itself.
fn shaped(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && sides(facts).any(|side| side.shaped)
}

/// The eBPF engine can remove the entries of a single host, so roaming does not prevent it.
fn roaming(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && facts.roaming
}

/// Returns why a flow without an obstacle is not offloaded.
fn waiting(facts: &Facts<'_>) -> Reason {
    match facts.offload {
        OffloadState::Refused(reason) => reason,
        OffloadState::Idle
        | OffloadState::Requested
        | OffloadState::Confirming
        | OffloadState::Offloaded => {
            if facts.first_packets {
                // Our rule set returns before it adds or marks the flow. Not a rung, because the
                // eBPF engine uses the mark, which arrives before the packets are counted here.
                Reason::FirstPackets
            } else if facts.quiet >= FLOWTABLE_TIMEOUT {
                // Removed by `nf_flow_offload_gc_step`, offloaded again with the next packet.
                Reason::Idle
            } else if facts.active_for < OFFLOAD_TIMEOUT {
                // No packet was seen late enough to show that the kernel refuses.
                Reason::Pending
            } else {
                Reason::NotTaken
            }
        }
    }
}
