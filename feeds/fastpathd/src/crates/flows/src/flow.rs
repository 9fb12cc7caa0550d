// SPDX-License-Identifier: GPL-2.0-or-later
//! One flow as the table keeps it: counters and rates, counters that were set to zero, how a rate
//! without traffic fades (0 after 5 s), the last 16 steps of its life, and when an entry with the
//! same tuple is another connection.

use std::net::IpAddr;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use model::{Action, Engine};

use crate::flow_route::FlowRoute;
use crate::handshake::{OffloadState, Passed};
use crate::inspection::InspectionStatus;
use crate::intern::Number;
use crate::network::Reach;
use crate::path::{HardwareDirection, Path, Reason};
use crate::proto::{ICMP, ICMPV6};
use crate::report::Reported;
use crate::stack::ByStack;
use crate::time::Millis;

/// Readings closer together than this give no rate: the entry came twice in one dump.
const READING_GAP_MS: Millis = 100;
/// A rate without new bytes fades by this with every reading …
const FADE: f32 = 0.3;
/// … and is gone after this long.
const QUIET_MS: Millis = 5000;
/// Steps of a life that are kept: the first and the latest.
const STEPS_MOST: usize = 16;

/// One step in a flow's life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStep {
    pub(crate) at: Millis,
    pub(crate) path: Path,
    pub(crate) reason: Option<Reason>,
    pub(crate) state: Option<TcpState>,
}

/// The known values of a flow's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Not read yet, and grown in part before we watched.
    Foreign,
    /// Not read yet, and all ours.
    Ours,
    /// Read before.
    Done,
}

/// Both ends of a flow, seen from one side of the address translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) src: IpAddr,
    pub(crate) sport: u16,
    pub(crate) dst: IpAddr,
    pub(crate) dport: u16,
}

/// The growth between two readings, from and to the initiator.
pub(crate) type Delta = [Counters; 2];

/// The result of reading the counters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) delta: Delta,
    /// The kernel's counters at the reading before, both directions. After somebody set them to
    /// zero they are lower than ours.
    pub(crate) before: Counters,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, a byte each")]
pub(crate) struct Flow {
    /// The kernel's id, with a serial number above its 32 bits when two flows share it.
    pub(crate) id: u64,
    pub(crate) orig: Tuple,
    pub(crate) reply: Tuple,
    pub(crate) up: Counters,
    pub(crate) down: Counters,
    /// The counts when the kernel's counters were last set to zero, if they were, and packets that
    /// the kernel never counted.
    pub(crate) zeroed: Option<Box<Delta>>,
    pub(crate) offloaded_bytes: u64,
    /// Bits per second.
    pub(crate) up_bps: f32,
    pub(crate) down_bps: f32,
    pub(crate) born: Millis,
    /// When the counters were read last.
    pub(crate) counted: Millis,
    /// When they were last seen to have grown.
    pub(crate) active: Millis,
    /// Since when nothing but the kernel keeps it from the flowtable.
    pub(crate) eligible: Millis,
    pub(crate) life: Vec<PathStep>,
    pub(crate) initiator: Number,
    pub(crate) responder: Number,
    pub(crate) src_name: Number,
    pub(crate) dst_name: Number,
    /// Generation of the network in which the four above were looked up.
    pub(crate) generation: u64,
    pub(crate) status: Status,
    /// Connection mark.
    pub(crate) mark: u32,
    /// Low bits of the kernel's start time in ms, to distinguish connections; 0: unknown.
    pub(crate) started: u32,
    /// The dump or event batch it was last seen in.
    pub(crate) seen: u32,
    pub(crate) zone: u16,
    pub(crate) path: Path,
    /// The best path besides inspection since the counters were read, if it was on any.
    pub(crate) carried: Option<Path>,
    /// It was inspected at some time since the counters were read.
    pub(crate) inspected: bool,
    pub(crate) action: Action,
    pub(crate) inspection: InspectionStatus,
    pub(crate) reason: Option<Reason>,
    pub(crate) tcp_state: Option<TcpState>,
    pub(crate) helper: bool,
    pub(crate) seq_adjust: bool,
    pub(crate) local: bool,
    pub(crate) multicast: bool,
    /// Where more than its destination decides.
    pub(crate) route: Option<Box<FlowRoute>>,
    /// The best that a flowtable can do for packets from the initiator, the responder.
    pub(crate) reach: [Reach; 2],
    /// Packets that the stack has forwarded although the flow is offloaded, or may not be.
    pub(crate) by_stack: Option<Box<ByStack>>,
    pub(crate) reading: Reading,
    pub(crate) offload: OffloadState,
    pub(crate) rules: Passed,
    /// Bytes carried by eBPF since the rates were made, from and to the initiator.
    pub(crate) unrated: [u64; 2],
    /// The sums that records have reported; none: there was no record yet.
    pub(crate) reported: Option<Box<Reported>>,
}

impl Flow {
    pub(crate) fn new(id: u64, entry: &Entry, born: Millis, now: Millis) -> Self {
        Self {
            id,
            orig: entry.orig,
            reply: entry.reply,
            up: Counters::default(),
            down: Counters::default(),
            zeroed: None,
            offloaded_bytes: 0,
            up_bps: 0.0,
            down_bps: 0.0,
            born,
            counted: now,
            active: now,
            eligible: now,
            life: Vec::new(),
            initiator: 0,
            responder: 0,
            src_name: 0,
            dst_name: 0,
            generation: u64::MAX,
            status: entry.status,
            mark: entry.mark,
            started: started(entry).unwrap_or(0),
            seen: 0,
            zone: entry.zone,
            path: Path::Slow,
            carried: None,
            inspected: false,
            action: Action::None,
            inspection: InspectionStatus::None,
            reason: None,
            tcp_state: entry.tcp_state,
            helper: entry.helper,
            seq_adjust: entry.seq_adjust,
            local: false,
            multicast: is_multicast(&entry.orig),
            route: None,
            reach: [Reach::Hardware; 2],
            by_stack: None,
            reading: Reading::Foreign,
            offload: OffloadState::Idle,
            rules: Passed::default(),
            unrated: [0; 2],
            reported: None,
        }
    }

    /// The kernel's id.
    pub(crate) fn kernel_id(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "the serial number is above")]
        let id = self.id as u32;
        id
    }

    /// Whether `entry` is this connection.
    pub(crate) fn is(&self, entry: &Entry) -> bool {
        self.kernel_id() == entry.id && self.zone == entry.zone && self.orig == entry.orig
    }

    /// Addresses and ports as the initiator sends them. ICMP: id and type.
    pub(crate) fn near(&self) -> Ends {
        let Tuple { src, dst, sport, dport, .. } = self.orig;
        let dport = if self.is_icmp() { dport >> 8 } else { dport };
        Ends { src, sport, dst, dport }
    }

    /// Addresses and ports as the other side sees them. ICMP: id and type.
    pub(crate) fn far(&self) -> Ends {
        let Tuple { src, dst, sport, dport, .. } = self.reply;
        if self.is_icmp() {
            // The id is in the same place both ways; the type of the answer is another one.
            return Ends { src: dst, sport, dst: src, dport: self.orig.dport >> 8 };
        }
        Ends { src: dst, sport: dport, dst: src, dport: sport }
    }

    pub(crate) fn is_icmp(&self) -> bool {
        matches!(self.orig.proto, ICMP | ICMPV6)
    }

    /// Both directions.
    pub(crate) fn bytes(&self) -> u64 {
        self.up.bytes.saturating_add(self.down.bytes)
    }

    /// The kernel's own count of packets, both directions, as rules read it.
    pub(crate) fn kernel_packets(&self) -> u64 {
        let [up, down] = self.zeroed.as_deref().copied().unwrap_or_default();
        let shown = self.up.packets.saturating_add(self.down.packets);
        shown.saturating_sub(up.packets.saturating_add(down.packets))
    }

    /// Both directions, bits per second.
    pub(crate) fn bps(&self) -> f32 {
        self.up_bps + self.down_bps
    }

    /// The best for each direction, by the flowtable of this engine or, with none, by a foreign one
    /// whose devices are unknown.
    pub(crate) fn reach_of(&self, engine: Engine) -> [Reach; 2] {
        if engine == Engine::Off { [Reach::Hardware; 2] } else { self.reach }
    }

    /// The directions in hardware. Conntrack says that a driver has taken one at least.
    pub(crate) fn hardware(&self, engine: Engine) -> HardwareDirection {
        if self.path != Path::Hardware {
            return HardwareDirection::None;
        }
        match self.reach_of(engine).map(|reach| reach == Reach::Hardware) {
            [true, false] => HardwareDirection::Up,
            [false, true] => HardwareDirection::Down,
            [true, true] | [false, false] => HardwareDirection::Either,
        }
    }

    /// Its packets are forwarded, not the router's own.
    pub(crate) fn forwarded(&self) -> bool {
        !self.local && !self.multicast
    }

    /// All addresses of it.
    pub(crate) fn addresses(&self) -> [IpAddr; 4] {
        [self.orig.src, self.orig.dst, self.reply.src, self.reply.dst]
    }

    /// Adopts the values of `entry` except the counters. An event may be older than the last dump,
    /// and setting the offload bits causes none: only a dump (`whole`) or the end of the connection
    /// clears them. An event without a mark need not mean that it is zero.
    pub(crate) fn update(&mut self, entry: &Entry, whole: bool) {
        let ending = entry.tcp_state.is_some_and(|state| state > TcpState::Established);
        let kept = self.status.0 & (Status::OFFLOAD | Status::HW_OFFLOAD).0;
        let keep = if whole || ending { 0 } else { kept };
        self.status = entry.status | Status(keep);
        if whole || entry.mark != 0 {
            self.mark = entry.mark;
        }
        self.reply = entry.reply;
        self.tcp_state = entry.tcp_state.or(self.tcp_state);
        self.helper = entry.helper;
        self.seq_adjust = entry.seq_adjust;
    }

    /// Takes in counters without making a delta of them: they grew before we watched.
    pub(crate) fn baseline(&mut self, entry: &Entry, now: Millis) {
        self.counted = now;
        let zero = self.zeroed.as_deref().copied().unwrap_or_default();
        self.up = sum(zero[0], entry.orig_counters.unwrap_or_default());
        self.down = sum(zero[1], entry.reply_counters.unwrap_or_default());
        self.reading = Reading::Done;
        if self.carried.is_some_and(Path::offloaded) {
            self.offloaded_bytes = self.bytes();
        }
    }

    /// Whether `entry` is another connection with the same tuple and id. Counters that went
    /// backwards alone do not say so: everybody may set them to zero, and re-inspection does.
    pub(crate) fn restarted(&self, entry: &Entry) -> bool {
        let known = (self.started != 0).then_some(self.started);
        if let Some((known, new)) = known.zip(started(entry)) {
            return known != new;
        }
        let backwards = |read: Option<Counters>, zero: Counters, known: Counters| {
            let read = read.unwrap_or(known);
            let last = |known: u64, zero: u64| known.saturating_sub(zero);
            read.bytes < last(known.bytes, zero.bytes)
                || read.packets < last(known.packets, zero.packets)
        };
        let zero = self.zeroed.as_deref().copied().unwrap_or_default();
        let shrunk = backwards(entry.orig_counters, zero[0], self.up)
            || backwards(entry.reply_counters, zero[1], self.down);
        // A connection does not forget an answer, nor go back to its handshake.
        let fresh = matches!(entry.tcp_state, Some(TcpState::SynSent | TcpState::SynRecv));
        let old = self.status.has(Status::SEEN_REPLY);
        let older = self.tcp_state.is_some_and(|state| state >= TcpState::Established);
        shrunk && ((old && !entry.status.has(Status::SEEN_REPLY)) || (older && fresh))
    }

    /// The kernel's counters are zero from now on; ours go on.
    pub(crate) fn set_to_zero(&mut self) {
        self.zeroed = Some(Box::new([self.up, self.down]));
    }

    /// Reads the counters of `entry`. `last`: take them however soon after the reading before.
    pub(crate) fn count(&mut self, entry: &Entry, now: Millis, last: bool) -> Option<Growth> {
        let read = [entry.orig_counters?, entry.reply_counters?];
        let gap = now - self.counted;
        let soon = gap < READING_GAP_MS;
        if soon && !last && self.reading == Reading::Done {
            return None;
        }
        let growth = self.grow(read);
        if growth.delta != Delta::default() {
            self.active = now;
        }
        let silent = self.path == Path::Ended || now - self.active > QUIET_MS;
        if !soon {
            let [up, down] = std::mem::take(&mut self.unrated);
            self.up_bps = rate(growth.delta[0].bytes + up, gap, self.up_bps, silent);
            self.down_bps = rate(growth.delta[1].bytes + down, gap, self.down_bps, silent);
        }
        self.reading = Reading::Done;
        self.counted = now;
        Some(growth)
    }

    /// Adds the growth of the kernel's counters, also when they were set to zero meanwhile: then
    /// they have shrunk, or not even that if they have outgrown their old value; growth between
    /// the last reading and the zero is lost.
    fn grow(&mut self, read: Delta) -> Growth {
        let mut zero = self.zeroed.as_deref().copied().unwrap_or_default();
        let known = zero;
        let mut shown = [self.up, self.down];
        let mut growth = Growth { delta: Delta::default(), before: Counters::default() };
        for i in 0..2 {
            // Each number on its own: the kernel sets one after the other to zero.
            let (delta, before) = (&mut growth.delta[i], &mut growth.before);
            let grown = advance(&mut shown[i].bytes, &mut zero[i].bytes, read[i].bytes);
            (delta.bytes, before.bytes) = (grown.0, before.bytes.saturating_add(grown.1));
            let grown = advance(&mut shown[i].packets, &mut zero[i].packets, read[i].packets);
            (delta.packets, before.packets) = (grown.0, before.packets.saturating_add(grown.1));
        }
        [self.up, self.down] = shown;
        if zero != known {
            self.zeroed = Some(Box::new(zero));
        }
        growth
    }

    /// The counters have been read, and the path is known: a new account begins.
    pub(crate) fn credited(&mut self) {
        self.inspected = self.path == Path::Inspect;
        self.carried = (!self.inspected).then(|| self.counted_path());
    }

    /// The path of packets that the kernel counts: it does not count those that eBPF carries, and
    /// the last ones of an ended connection are slow.
    fn counted_path(&self) -> Path {
        match self.path {
            Path::Ebpf | Path::Ended => Path::Slow,
            path @ (Path::Slow | Path::Inspect | Path::Flowtable | Path::Hardware) => path,
        }
    }

    /// How long after it became eligible the last packet was seen; 0 while it is not.
    pub(crate) fn active_for(&self) -> Millis {
        if waiting(self.reason) { self.active - self.eligible } else { 0 }
    }

    /// Notes path and reason; true if they are new.
    pub(crate) fn decide(&mut self, path: Path, reason: Option<Reason>, now: Millis) -> bool {
        if self.path == path && self.reason == reason && !self.life.is_empty() {
            return false;
        }
        if waiting(reason) && !waiting(self.reason) {
            self.eligible = now;
        }
        (self.path, self.reason) = (path, reason);
        match path {
            Path::Inspect => self.inspected = true,
            Path::Ebpf => {}
            Path::Ended => (self.up_bps, self.down_bps) = (0.0, 0.0),
            Path::Slow | Path::Flowtable | Path::Hardware => {
                self.carried = self.carried.max(Some(path));
            }
        }
        if self.life.len() == STEPS_MOST {
            self.life.remove(1);
        }
        if self.life.capacity() == 0 {
            self.life.reserve_exact(2);
        }
        self.life.push(PathStep { at: now, path, reason, state: self.tcp_state });
        true
    }
}

fn sum(a: Counters, b: Counters) -> Counters {
    Counters {
        packets: a.packets.saturating_add(b.packets),
        bytes: a.bytes.saturating_add(b.bytes),
    }
}

/// Adds to `shown` the growth of `read` since `zero`; growth, and the reading before. A smaller
/// number means that the counter was set to zero.
fn advance(shown: &mut u64, zero: &mut u64, read: u64) -> (u64, u64) {
    let mut before = shown.saturating_sub(*zero);
    if read < before {
        (*zero, before) = (*shown, 0);
    }
    let grown = read - before;
    *shown = shown.saturating_add(grown);
    (grown, before)
}

/// Low bits of the kernel's start time in ms; `None`: it does not keep it.
fn started(entry: &Entry) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "49 days apart differ in the rest")]
    let low = entry.start_ns.map(|ns| (ns / 1_000_000) as u32);
    low.filter(|low| *low != 0)
}

/// Whether only the kernel keeps a flow with this reason from the flowtable.
fn waiting(reason: Option<Reason>) -> bool {
    matches!(reason, Some(Reason::Pending | Reason::NotTaken))
}

/// The new rate in bits per second.
fn rate(grown: u64, gap: Millis, before: f32, silent: bool) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "seven digits are plenty for a rate")]
    match (grown, silent) {
        (0, true) => 0.0,
        (0, false) => before * FADE,
        (grown, _) => grown as f32 * 8000.0 / gap as f32,
    }
}

fn is_multicast(orig: &Tuple) -> bool {
    orig.dst.is_multicast() || matches!(orig.dst, IpAddr::V4(address) if address.is_broadcast())
}
