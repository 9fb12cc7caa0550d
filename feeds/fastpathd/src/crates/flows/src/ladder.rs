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
use crate::network::Side;
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
    /// TCP state, where the kernel reports it.
    pub tcp_state: Option<TcpState>,
    /// Its packets may be routed by more than their destination.
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

type Rung = fn(&Facts<'_>) -> Option<Verdict>;

/// Rungs that keep a flow from being carried at all.
const KEPT: [Rung; 17] = [
    inspected,
    engine_off,
    local,
    multicast,
    unsupported_protocol,
    helper,
    sequence_adjust,
    excluded,
    closing,
    not_established,
    policy_routed,
    no_route,
    tunnel,
    no_device,
    no_neighbour,
    same_side,
    shaped,
];

/// Why a flow that nothing keeps is not carried.
const WAITING: [Rung; 3] = [refused, idle, pending];

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
        *self.kept.get_or_init(|| KEPT.iter().find_map(|rung| rung(&self.facts)))
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
            .or_else(|| self.kept())
            .or_else(|| WAITING.iter().find_map(|rung| rung(&facts)))
            .unwrap_or((Path::Slow, Some(Reason::NotTaken)))
    }
}

fn slow_if(holds: bool, reason: Reason) -> Option<Verdict> {
    holds.then_some((Path::Slow, Some(reason)))
}

fn sides<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Side> {
    [facts.initiator, facts.responder].into_iter().flatten()
}

/// `IPS_HW_OFFLOAD`, set by `flow_offload_work_add` once a driver took both directions, and
/// `IPS_OFFLOAD`, set by `nft_flow_offload_eval` and cleared by `flow_offload_teardown`. They are
/// believed before anything else: with our engine off it is somebody else's flowtable.
///
/// Flows that our programs carry are carried by nothing else: they are before the flowtable.
///
/// One exception: `nft_dev_forward_path` gives up on a device that is not listed, and the flow is
/// added all the same. When that holds for both sides the bit is set and no packet ever meets the
/// flowtable; the rungs below then say why.
fn carried(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.offload == OffloadState::Carried {
        return Some((Path::Ebpf, None));
    }
    let unlisted = |side: Option<&Side>| side.is_some_and(Side::unlisted);
    let unseen = unlisted(facts.initiator) && unlisted(facts.responder);
    let path = offloaded(facts.status, facts.engine != Engine::Off && unseen);
    path.map(|path| (path, None))
}

/// The path that the status bits show, if it is not the slow one. `unseen`: our flowtable sees
/// packets of neither side.
pub(crate) fn offloaded(status: Status, unseen: bool) -> Option<Path> {
    if status.has(Status::HW_OFFLOAD) {
        return Some(Path::Hardware);
    }
    (status.has(Status::OFFLOAD) && !unseen).then_some(Path::Flowtable)
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

/// No rule adds flows.
fn engine_off(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.engine == Engine::Off, Reason::EngineOff)
}

/// Packets of the router itself pass INPUT and OUTPUT, never FORWARD where flows are added
/// (`nft_flow_offload_validate`: only `NF_INET_FORWARD`).
fn local(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.local, Reason::Local)
}

/// Multicast is routed by `ip_mr_forward`; a flowtable entry has one next hop.
fn multicast(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.multicast, Reason::Multicast)
}

/// `nft_flow_offload_eval` lets TCP and UDP through. (GRE without NAT too since 6.2, but our
/// rule does not ask for it.)
fn unsupported_protocol(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(!matches!(facts.proto, TCP | UDP), Reason::UnsupportedProtocol)
}

/// `nf_ct_ext_exist(ct, NF_CT_EXT_HELPER)`: the helper has to see every packet.
fn helper(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.helper, Reason::Helper)
}

/// `ct->status & IPS_SEQ_ADJUST`: the flowtable does not rewrite sequence numbers.
fn sequence_adjust(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.seq_adjust, Reason::SequenceAdjust)
}

/// Our rule set returns before `flow add`.
fn excluded(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.excluded, Reason::Excluded)
}

/// FIN and RST tear a flow down (`nf_flow_state_check`) and TCP past ESTABLISHED is not added.
/// Comes before `not_established`, which it would look like otherwise.
fn closing(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(ending(facts), Reason::Closing)
}

fn ending(facts: &Facts<'_>) -> bool {
    use TcpState::{Close, CloseWait, FinWait, LastAck, TimeWait};
    let ending = matches!(facts.tcp_state, Some(FinWait | CloseWait | LastAck | TimeWait | Close));
    (facts.proto == TCP && ending) || facts.status.has(Status::DYING)
}

/// `nf_conntrack_tcp_established(ct)` for TCP, and an answer for both: our rule asks for
/// `ct state established`. A TCP state that was never reported (the entry was offloaded when first
/// seen) counts as established when both directions were seen.
fn not_established(facts: &Facts<'_>) -> Option<Verdict> {
    let handshake =
        facts.proto == TCP && facts.tcp_state.is_some_and(|state| state != TcpState::Established);
    slow_if(handshake || !facts.status.has(Status::SEEN_REPLY), Reason::NotEstablished)
}

/// Where our programs send packets is found by their destination. The kernel's flowtable keeps the
/// routes that the kernel found, whatever decided about them.
fn policy_routed(facts: &Facts<'_>) -> Option<Verdict> {
    let both = facts.initiator.zip(facts.responder);
    let theirs = both.is_some_and(|(a, b)| a.in_flowtable && b.in_flowtable);
    let ours = facts.engine == Engine::Ebpf && !theirs;
    slow_if(ours && facts.policy_routed, Reason::PolicyRouted)
}

/// `nft_flow_route`: a flow needs a route both ways.
fn no_route(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.initiator.is_none() || facts.responder.is_none(), Reason::NoRoute)
}

/// A tunnel has no lowest device whose ingress hook a flowtable could use
/// (`nft_dev_path_info` gives up on it). Comes before `no_device`, which would hold as well.
fn tunnel(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(sides(facts).any(|side| side.tunnel && !side.held()), Reason::Tunnel)
}

/// `nft_flowtable_find_dev`: the device under each side has to be listed. Behind a bridge it is not
/// known as long as the neighbour is not, and that is the reason then.
fn no_device(facts: &Facts<'_>) -> Option<Verdict> {
    let unheld = |side: &Side| !side.held() && (side.neighbour || !side.port.is_empty());
    slow_if(sides(facts).any(unheld) || divided(facts), Reason::NoDevice)
}

/// One side belongs to eBPF, the other to the flowtable, and neither sees both directions.
fn divided(facts: &Facts<'_>) -> bool {
    facts.engine == Engine::Ebpf
        && sides(facts).any(|side| side.in_ebpf)
        && sides(facts).any(|side| side.in_flowtable)
}

/// `nft_dev_fill_forward_path` wants a valid neighbour to learn the path through bridge and
/// VLAN; without one the entry exists and is missed.
fn no_neighbour(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(sides(facts).any(|side| !side.neighbour), Reason::NoNeighbour)
}

/// Both ends behind one device and VLAN: bridged or hairpin. Our programs can hairpin translated
/// packets, which surely were not bridged.
fn same_side(facts: &Facts<'_>) -> Option<Verdict> {
    let translated = facts.status.0 & (Status::SRC_NAT | Status::DST_NAT).0 != 0;
    if translated && !sides(facts).any(|side| !side.in_ebpf) {
        return None;
    }
    let same = |a: &Side, b: &Side| a.device == b.device && a.vlan == b.vlan;
    let both = facts.initiator.zip(facts.responder);
    slow_if(both.is_some_and(|(a, b)| same(a, b)), Reason::SameSide)
}

/// Our rule set returns before `flow add`. The eBPF engine itself knows its bypassed flows.
fn shaped(facts: &Facts<'_>) -> Option<Verdict> {
    let ebpf = facts.engine == Engine::Ebpf && sides(facts).all(|side| side.in_ebpf);
    slow_if(!ebpf && sides(facts).any(|side| side.shaped), Reason::Shaped)
}

/// The eBPF engine's refusal.
fn refused(facts: &Facts<'_>) -> Option<Verdict> {
    match facts.offload {
        OffloadState::Refused(reason) => Some((Path::Slow, Some(reason))),
        OffloadState::Idle
        | OffloadState::Preparing
        | OffloadState::Requested
        | OffloadState::Carried => None,
    }
}

/// Quiet for the flowtable's timeout: dropped by `nf_flow_offload_gc_step`, back with the next
/// packet.
fn idle(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.quiet >= FLOWTABLE_TIMEOUT, Reason::Idle)
}

/// No packet has been seen late enough to say that the kernel refuses.
fn pending(facts: &Facts<'_>) -> Option<Verdict> {
    slow_if(facts.active_for < PATIENCE, Reason::Pending)
}
