// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides path and reason of a flow: a ladder of rungs in the order of the kernel's own checks,
//! the first that holds decides. Also the time limits: idle after 30 s without a packet, not taken
//! after 5 s of traffic.
//!
//! The order is that of the kernel's own checks where it has one (`nft_flow_offload_eval` in
//! `net/netfilter/nft_flow_offload.c`), so that the reason named is the one that came first.
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

/// Without a packet for this long the kernel takes a flow out of the flowtable
/// (`NF_FLOW_TIMEOUT`, `net.netfilter.nf_flowtable_{tcp,udp}_timeout`).
const FLOWTABLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The kernel offloads a flow with its next packet; a flow that is active for longer than this and
/// still slow is being refused. Longer than any refresh of the counters.
const PATIENCE: Duration = Duration::from_secs(5);

/// The facts about a flow when its path is decided.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, one rung each")]
pub struct Facts<'a> {
    /// The engine in force.
    pub engine: Engine,
    /// The state of inspection; `None` for traffic that is never in the forward hook.
    pub inspection: InspectionStatus,
    /// Conntrack status bits.
    pub status: Status,
    /// Its state in the handshake with the eBPF engine.
    pub offload: OffloadState,
    /// One end is the router itself.
    pub local: bool,
    /// The destination is multicast or broadcast.
    pub multicast: bool,
    /// Layer 4 protocol number.
    pub proto: u8,
    /// A conntrack helper is attached.
    pub helper: bool,
    /// Sequence numbers are adjusted.
    pub seq_adjust: bool,
    /// The configuration keeps it on the slow path.
    pub excluded: bool,
    /// Its packets reach a rule of another program that acts on each packet.
    pub rule_per_packet: bool,
    /// The kernel encrypts its packets.
    pub encrypted: bool,
    /// One of its hosts keeps moving.
    pub roaming: bool,
    /// It is offloaded, but the stack sees most packets of one direction.
    pub missed: bool,
    /// The configuration keeps its first packets on the slow path, and they have not all passed.
    pub first_packets: bool,
    /// TCP state, where the kernel reports it.
    pub tcp_state: Option<TcpState>,
    /// The kernel has been asked how its packets are routed, and has not answered.
    pub route_asked: bool,
    /// Its packets are routed by more than can be known.
    pub policy_routed: bool,
    /// The route to the initiator; `None`: no route.
    pub initiator: Option<&'a Side>,
    /// The route to the responder, after destination NAT; `None`: no route.
    pub responder: Option<&'a Side>,
    /// Time since the last packet.
    pub quiet: Duration,
    /// How long after it became eligible the last packet was seen.
    pub active_for: Duration,
}

/// The decision: a path, and the reason when it is the slow one or inspection.
pub type Verdict = (Path, Option<Reason>);

/// A condition, and the reason for which a flow that meets it stays slow.
type Rung = (fn(&Facts<'_>) -> bool, Reason);

/// Rungs that keep a flow from being carried at all, below inspection.
const KEPT: [Rung; 21] = [
    // Packets of the router itself pass INPUT and OUTPUT, never FORWARD where flows are added
    // (`nft_flow_offload_validate`: only `NF_INET_FORWARD`).
    (|flow| flow.local, Reason::Local),
    // Multicast is routed by `ip_mr_forward`; a flowtable entry has one next hop.
    (|flow| flow.multicast, Reason::Multicast),
    // No rule adds flows. Comes after those that no engine could forward.
    (|flow| flow.engine == Engine::Off, Reason::EngineOff),
    // `nft_flow_offload_eval` lets TCP and UDP through. (GRE without NAT too since 6.2, but our
    // rule does not ask for it.)
    (|flow| !matches!(flow.proto, TCP | UDP), Reason::UnsupportedProtocol),
    // `nf_ct_ext_exist(ct, NF_CT_EXT_HELPER)`: the helper has to see every packet.
    (|flow| flow.helper, Reason::Helper),
    // `ct->status & IPS_SEQ_ADJUST`: the flowtable does not rewrite sequence numbers.
    (|flow| flow.seq_adjust, Reason::SequenceAdjust),
    // Our rule set returns before `flow add`.
    (|flow| flow.excluded, Reason::Excluded),
    // Our rule set does not note that its packets have passed the rules.
    (|flow| flow.rule_per_packet, Reason::RulePerPacket),
    // Our rule set returns before `flow add`, and before it marks the flow for eBPF.
    (|flow| flow.encrypted, Reason::Ipsec),
    // FIN and RST tear a flow down (`nf_flow_state_check`) and TCP past ESTABLISHED is not added.
    // Comes before `not_established`, which it would look like otherwise.
    (ending, Reason::Closing),
    (not_established, Reason::NotEstablished),
    (route_asked, Reason::Pending),
    (policy_routed, Reason::PolicyRouted),
    // `nft_flow_route`: a flow needs a route both ways.
    (|flow| flow.initiator.is_none() || flow.responder.is_none(), Reason::NoRoute),
    // The flowtable does not list the tunnel, so packets from it miss their entry. Comes before
    // `no_device`, which would hold as well.
    (|flow| sides(flow).any(|side| side.tunnel && !side.held()), Reason::Tunnel),
    (no_device, Reason::NoDevice),
    // `nft_dev_fill_forward_path` wants a valid neighbour to learn the path through bridge and
    // VLAN; without one the entry exists and is missed.
    (|flow| sides(flow).any(|side| !side.neighbour), Reason::NoNeighbour),
    (same_side, Reason::SameSide),
    (shaped, Reason::Shaped),
    // Our rule set returns before `flow add`.
    (roaming, Reason::Roaming),
    // `flow_offload_lookup` compares ingress device and whole tags, and `nf_flow_tuple_ip` leaves
    // fragments and options to the stack.
    (|flow| flow.missed, Reason::EntryMissed),
];

/// Climbs the ladder: the first rung that holds decides, and a flow that passes all of them could
/// be carried and is not.
#[must_use]
pub fn climb(facts: &Facts<'_>) -> Verdict {
    Climb::new(*facts).verdict(facts.offload)
}

/// One flow on the ladder. The rungs of [`KEPT`] are climbed once at most: none of them depends on
/// the handshake, so their verdict holds before and after its step.
pub(crate) struct Climb<'a> {
    facts: Facts<'a>,
    kept: OnceCell<Option<Verdict>>,
}

impl<'a> Climb<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        Self { facts, kept: OnceCell::new() }
    }

    /// The verdict that keeps the flow from being carried at all.
    fn kept(&self) -> Option<Verdict> {
        *self.kept.get_or_init(|| {
            let kept = || KEPT.iter().find(|(holds, _)| holds(&self.facts));
            inspected(&self.facts).or_else(|| kept().map(|(_, reason)| (Path::Slow, Some(*reason))))
        })
    }

    /// Whether the eBPF engine may offload the flow: both sides have one of our programs, and
    /// nothing prevents it.
    pub(crate) fn may_use_ebpf(&self) -> bool {
        self.facts.engine == Engine::Ebpf
            && sides(&self.facts).all(|side| side.in_ebpf)
            && self.kept().is_none()
    }

    /// The verdict, with the flow in this state of the handshake.
    pub(crate) fn verdict(&self, offload: OffloadState) -> Verdict {
        let facts = Facts { offload, ..self.facts };
        carried(&facts)
            .or_else(|| ended(&facts))
            .or_else(|| self.kept())
            .unwrap_or_else(|| (Path::Slow, Some(waiting(&facts))))
    }
}

fn sides<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Side> {
    [facts.initiator, facts.responder].into_iter().flatten()
}

/// `IPS_HW_OFFLOAD`, set by `flow_offload_work_add` once a driver took one direction at least, and
/// `IPS_OFFLOAD`, set by `nft_flow_offload_eval` and cleared by `flow_offload_teardown`. They are
/// believed before anything else: with our engine off it is somebody else's flowtable.
///
/// Flows that our programs carry are carried by nothing else: they are before the flowtable.
///
/// Three exceptions. Packets that do not match the entry take the slow path.
/// `nft_dev_forward_path` gives up on a device that is not listed, and the flow is added all the
/// same: when that holds for both sides, no packet ever meets the flowtable, and the rungs below
/// say why. And `nf_flow_offload_tuple` offers a rule to each driver: one may take it although its
/// packets enter or leave through a port of another, so these are forwarded in software.
fn carried(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.offload == OffloadState::Carried {
        return Some((Path::Ebpf, None));
    }
    let ends = reach([facts.initiator, facts.responder]);
    let foreign = facts.engine == Engine::Off;
    let path = offloaded(facts.status, if foreign { [Reach::Hardware; 2] } else { ends });
    path.filter(|_| !facts.missed).map(|path| (path, None))
}

/// The path that the status bits show, if it is not the slow one: that of the better direction.
pub(crate) fn offloaded(status: Status, reach: [Reach; 2]) -> Option<Path> {
    let best = reach[0].max(reach[1]);
    if status.has(Status::HW_OFFLOAD) && best == Reach::Hardware {
        return Some(Path::Hardware);
    }
    (status.has(Status::OFFLOAD) && best != Reach::Stack).then_some(Path::Flowtable)
}

/// The path of one direction of a flow.
pub(crate) fn direction(path: Path, reach: Reach) -> Path {
    match (path, reach) {
        (Path::Hardware | Path::Flowtable, Reach::Stack) => Path::Slow,
        (Path::Hardware, Reach::Software) => Path::Flowtable,
        (Path::Ended | Path::Slow | Path::Inspect | Path::Ebpf, _)
        | (Path::Flowtable, Reach::Software | Reach::Hardware)
        | (Path::Hardware, Reach::Hardware) => path,
    }
}

/// A connection that is over has no packets left to forward. The router's own stay local.
fn ended(facts: &Facts<'_>) -> Option<Verdict> {
    let forwarded = !facts.local && !facts.multicast;
    (forwarded && is_over(facts)).then_some((Path::Ended, None))
}

/// Reset, FIN seen from both sides, or removed from conntrack.
fn is_over(facts: &Facts<'_>) -> bool {
    use TcpState::{Close, LastAck, TimeWait};
    let over = matches!(facts.tcp_state, Some(LastAck | TimeWait | Close));
    (facts.proto == TCP && over) || facts.status.has(Status::DYING)
}

/// The rules of inspection come before those that add flows (chains `ips` and `fastpath`), and
/// they apply whether or not there is a flowtable. A connection that is ending will not leave
/// inspection any more; to say that it waits for that would be wrong.
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

/// One side has sent FIN.
fn ending(facts: &Facts<'_>) -> bool {
    use TcpState::{CloseWait, FinWait};
    facts.proto == TCP && matches!(facts.tcp_state, Some(FinWait | CloseWait))
}

/// `nf_conntrack_tcp_established(ct)` for TCP, and an answer for both: our rule asks for
/// `ct state established`. A TCP state that was never reported (the entry was offloaded when first
/// seen) counts as established when both directions were seen.
fn not_established(facts: &Facts<'_>) -> bool {
    let handshake =
        facts.proto == TCP && facts.tcp_state.is_some_and(|state| state != TcpState::Established);
    handshake || !facts.status.has(Status::SEEN_REPLY)
}

/// Our programs send packets where the kernel would, as far as that is known. The kernel's
/// flowtable keeps the routes that the kernel found, whatever decided about them.
fn policy_routed(facts: &Facts<'_>) -> bool {
    facts.policy_routed && needs_route(facts)
}

/// Nothing is carried on a guess.
fn route_asked(facts: &Facts<'_>) -> bool {
    facts.route_asked && needs_route(facts)
}

fn needs_route(facts: &Facts<'_>) -> bool {
    let both = facts.initiator.zip(facts.responder);
    let theirs = both.is_some_and(|(a, b)| a.in_flowtable && b.in_flowtable);
    facts.engine == Engine::Ebpf && !theirs
}

/// `nft_flowtable_find_dev`: the device under each side has to be listed. Behind a bridge it is not
/// known as long as the neighbour is not, and that is the reason then.
fn no_device(facts: &Facts<'_>) -> bool {
    let unheld = |side: &Side| !side.held() && (side.neighbour || !side.port.is_empty());
    sides(facts).any(unheld) || divided(facts)
}

/// One side belongs to eBPF, the other to the flowtable, and neither sees both directions.
fn divided(facts: &Facts<'_>) -> bool {
    facts.engine == Engine::Ebpf
        && sides(facts).any(|side| side.in_ebpf)
        && sides(facts).any(|side| side.in_flowtable)
}

/// Both ends behind one device and VLAN: bridged or hairpin. Our programs can hairpin translated
/// packets, which surely were not bridged.
fn same_side(facts: &Facts<'_>) -> bool {
    let translated = facts.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
    let ours = translated && sides(facts).all(|side| side.in_ebpf);
    let same = |(a, b): (&Side, &Side)| a.device == b.device && a.vlan == b.vlan;
    !ours && facts.initiator.zip(facts.responder).is_some_and(same)
}

/// Our rule set returns before `flow add`. The eBPF engine itself knows its bypassed flows.
fn shaped(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && sides(facts).any(|side| side.shaped)
}

/// The eBPF engine removes the entries of one host alone.
fn roaming(facts: &Facts<'_>) -> bool {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    !ebpf && facts.roaming
}

/// Why a flow that nothing keeps is not carried.
fn waiting(facts: &Facts<'_>) -> Reason {
    match facts.offload {
        OffloadState::Refused(reason) => reason,
        OffloadState::Idle
        | OffloadState::Requested
        | OffloadState::Confirming
        | OffloadState::Carried => {
            if facts.first_packets {
                // Our rule set returns before it adds or marks the flow. Not a rung: the eBPF
                // engine goes by the mark, which arrives before the packets are counted here.
                Reason::FirstPackets
            } else if facts.quiet >= FLOWTABLE_TIMEOUT {
                // Dropped by `nf_flow_offload_gc_step`, back with the next packet.
                Reason::Idle
            } else if facts.active_for < PATIENCE {
                // No packet has been seen late enough to say that the kernel refuses.
                Reason::Pending
            } else {
                Reason::NotTaken
            }
        }
    }
}
