// SPDX-License-Identifier: GPL-2.0-or-later
//! One flow: counters, rates and history of paths. Detects counter resets and reused tuples.

use std::net::IpAddr;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use model::{Action, Engine};

use crate::flow_route::FlowRoute;
use crate::handshake::{OffloadState, Passed, Rules};
use crate::inspection::InspectionStatus;
use crate::intern::Number;
use crate::network::{ByCpu, Reach, less};
use crate::path::{HardwareDirection, Path, Reason};
use crate::proto::{ICMP, ICMPV6};
use crate::report::Reported;
use crate::stack::ByStack;
use crate::time::Millis;

/// Minimum time between readings for a rate, because a dump may contain an entry twice.
const MIN_READING_GAP_MS: Millis = 100;
/// Factor by which a rate decays with each reading without new bytes.
const FADE: f32 = 0.3;
/// Time without new bytes after which the rate is 0.
const QUIET_TIMEOUT_MS: Millis = 5000;
/// Maximum steps kept: the first step and the latest steps.
const MAX_STEPS: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStep {
    pub(crate) at: Millis,
    pub(crate) path: Path,
    pub(crate) reason: Option<Reason>,
    pub(crate) state: Option<TcpState>,
}

/// Whether counters of a flow have been read, and whether its first reading counts in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Not read yet; the counters include traffic from before the flow was known.
    Foreign,
    /// Not read yet; all counted traffic is new.
    Ours,
    Done,
}

/// Both ends of a flow, before or after NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) src: IpAddr,
    pub(crate) sport: u16,
    pub(crate) dst: IpAddr,
    pub(crate) dport: u16,
}

/// Counter growth between two readings, from and to the initiator.
pub(crate) type Delta = [Counters; 2];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) delta: Delta,
    /// Sum of the kernel counters of both directions at the previous reading; 0 after a reset.
    pub(crate) before: Counters,
}

/// State of a flow that a hardware driver has taken.
#[derive(Debug, Clone)]
pub(crate) struct InDriver {
    pub(crate) since: Millis,
    pub(crate) by_cpu: ByCpu,
    /// Time of the last reading with new bytes, from and to the initiator.
    pub(crate) grown: [Millis; 2],
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, a byte each")]
pub(crate) struct Flow {
    /// Kernel id in the low 32 bits, and a serial number above if two flows share the id.
    pub(crate) id: u64,
    pub(crate) orig: Tuple,
    pub(crate) reply: Tuple,
    pub(crate) up: Counters,
    pub(crate) down: Counters,
    /// Offset of our sums from the kernel's counters: sums at the last reset, and traffic not
    /// counted by the kernel.
    pub(crate) zeroed: Option<Box<Delta>>,
    pub(crate) offloaded_bytes: u64,
    /// Bits per second.
    pub(crate) up_bps: f32,
    pub(crate) down_bps: f32,
    pub(crate) born: Millis,
    pub(crate) counted: Millis,
    /// Time of the last reading with growth.
    pub(crate) active: Millis,
    /// Time since which the flow is eligible for the flowtable.
    pub(crate) eligible: Millis,
    pub(crate) life: Vec<PathStep>,
    pub(crate) initiator: Number,
    pub(crate) responder: Number,
    pub(crate) src_name: Number,
    pub(crate) dst_name: Number,
    pub(crate) generation: u64,
    pub(crate) status: Status,
    pub(crate) mark: u32,
    /// Low bits of the start time in ms, to distinguish connections; 0 if unknown.
    pub(crate) started: u32,
    /// Number of the dump during which the flow was last reported by a dump or an event.
    pub(crate) seen: u32,
    pub(crate) zone: u16,
    pub(crate) path: Path,
    /// Best path since the last reading, apart from inspection; `None` if only inspected.
    pub(crate) best_path: Option<Path>,
    pub(crate) inspected: bool,
    pub(crate) action: Action,
    pub(crate) inspection: InspectionStatus,
    pub(crate) reason: Option<Reason>,
    pub(crate) tcp_state: Option<TcpState>,
    pub(crate) helper: bool,
    pub(crate) seq_adjust: bool,
    pub(crate) local: bool,
    pub(crate) multicast: bool,
    /// `None` if the route depends only on the destination.
    pub(crate) route: Option<Box<FlowRoute>>,
    pub(crate) reach: [Reach; 2],
    /// `None` unless a driver has taken the flow.
    pub(crate) driver: Option<Box<InDriver>>,
    pub(crate) by_stack: Option<Box<ByStack>>,
    pub(crate) reading: Reading,
    pub(crate) offload: OffloadState,
    pub(crate) rules: Passed,
    /// Bytes forwarded by eBPF since the last rate, from and to the initiator.
    pub(crate) unrated: [u64; 2],
    /// Sums of all flow records; `None` before the first record.
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
            best_path: None,
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
            driver: None,
            by_stack: None,
            reading: Reading::Foreign,
            offload: OffloadState::Idle,
            rules: Passed::default(),
            unrated: [0; 2],
            reported: None,
        }
    }

    pub(crate) fn kernel_id(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "the serial number is above")]
        let id = self.id as u32;
        id
    }

    pub(crate) fn is(&self, entry: &Entry) -> bool {
        self.kernel_id() == entry.id && self.zone == entry.zone && self.orig == entry.orig
    }

    /// Returns the ends before NAT. The ports are ICMP id and type for ICMP.
    pub(crate) fn near(&self) -> Ends {
        let Tuple { src, dst, sport, dport, .. } = self.orig;
        let dport = if self.is_icmp() { dport >> 8 } else { dport };
        Ends { src, sport, dst, dport }
    }

    /// Returns the ends after NAT. The ports are ICMP id and type for ICMP.
    pub(crate) fn far(&self) -> Ends {
        let Tuple { src, dst, sport, dport, .. } = self.reply;
        if self.is_icmp() {
            // ICMP replies have the id in the same field, and another type.
            return Ends { src: dst, sport, dst: src, dport: self.orig.dport >> 8 };
        }
        Ends { src: dst, sport: dport, dst: src, dport: sport }
    }

    pub(crate) fn is_icmp(&self) -> bool {
        matches!(self.orig.proto, ICMP | ICMPV6)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.up.bytes.saturating_add(self.down.bytes)
    }

    /// Returns the kernel's packet count of both directions, which rules use.
    pub(crate) fn kernel_packets(&self) -> u64 {
        let [up, down] = self.zeroed.as_deref().copied().unwrap_or_default();
        let shown = self.up.packets.saturating_add(self.down.packets);
        shown.saturating_sub(up.packets.saturating_add(down.packets))
    }

    pub(crate) fn bps(&self) -> f32 {
        self.up_bps + self.down_bps
    }

    /// Returns the reach of a flowtable for each direction. With the engine off, a flowtable
    /// belongs to another program, and its devices are unknown.
    pub(crate) fn reach_of(&self, engine: Engine) -> [Reach; 2] {
        if engine == Engine::Off { [Reach::Hardware; 2] } else { less(self.reach, self.by_cpu()) }
    }

    /// Returns the directions in hardware.
    pub(crate) fn hardware(&self, engine: Engine) -> HardwareDirection {
        if self.path != Path::Hardware {
            return HardwareDirection::None;
        }
        let by_cpu = self.by_cpu();
        let guessed = |i: usize| by_cpu[i].is_none() && by_cpu[1 - i] == Some(true);
        match self.reach_of(engine).map(|reach| reach == Reach::Hardware) {
            [true, false] if !guessed(0) => HardwareDirection::Up,
            [false, true] if !guessed(1) => HardwareDirection::Down,
            [true, true] if by_cpu == [Some(false); 2] => HardwareDirection::Both,
            _ => HardwareDirection::Either,
        }
    }

    pub(crate) fn by_cpu(&self) -> ByCpu {
        self.driver.as_deref().map(|driver| driver.by_cpu).unwrap_or_default()
    }

    pub(crate) fn forwarded(&self) -> bool {
        !self.local && !self.multicast
    }

    pub(crate) fn addresses(&self) -> [IpAddr; 4] {
        [self.orig.src, self.orig.dst, self.reply.src, self.reply.dst]
    }

    /// Adopts all values of `entry` except the counters. `whole`: the entry is from a dump or
    /// lookup. An event may be older than the last dump, so it clears the offload bits only when
    /// the connection ends. An event without a mark leaves the mark unchanged.
    pub(crate) fn update(&mut self, entry: &Entry, whole: bool) {
        let ending = entry.tcp_state.is_some_and(|state| state > TcpState::Established);
        let offload = self.status.0 & (Status::OFFLOAD | Status::HW_OFFLOAD).0;
        let kept = if whole || ending { 0 } else { offload };
        self.status = entry.status | Status(kept);
        if whole || entry.mark != 0 {
            self.mark = entry.mark;
        }
        self.reply = entry.reply;
        self.tcp_state = entry.tcp_state.or(self.tcp_state);
        self.helper = entry.helper;
        self.seq_adjust = entry.seq_adjust;
    }

    /// Adopts counters without crediting them, because they grew before the flow was known.
    pub(crate) fn baseline(&mut self, entry: &Entry, now: Millis) {
        self.counted = now;
        let zero = self.zeroed.as_deref().copied().unwrap_or_default();
        self.up = sum(zero[0], entry.orig_counters.unwrap_or_default());
        self.down = sum(zero[1], entry.reply_counters.unwrap_or_default());
        self.reading = Reading::Done;
        if self.best_path.is_some_and(Path::offloaded) {
            self.offloaded_bytes = self.bytes();
        }
    }

    /// Returns whether `entry` is a new connection with the same tuple and id. Lower counters alone
    /// may be a reset by re-inspection or another program.
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
        // A connection cannot lose its reply or return to the handshake.
        let fresh = matches!(entry.tcp_state, Some(TcpState::SynSent | TcpState::SynRecv));
        let old = self.status.has(Status::SEEN_REPLY);
        let older = self.tcp_state.is_some_and(|state| state >= TcpState::Established);
        shrunk && ((old && !entry.status.has(Status::SEEN_REPLY)) || (older && fresh))
    }

    /// Records that the kernel's counters restart at 0, so that our sums continue.
    pub(crate) fn set_to_zero(&mut self) {
        self.zeroed = Some(Box::new([self.up, self.down]));
    }

    /// Reads the counters of `entry`. `last` reads them even shortly after the previous reading.
    pub(crate) fn count(&mut self, entry: &Entry, now: Millis, last: bool) -> Option<Growth> {
        let read = [entry.orig_counters?, entry.reply_counters?];
        let gap = now - self.counted;
        let soon = gap < MIN_READING_GAP_MS;
        if soon && !last && self.reading == Reading::Done {
            return None;
        }
        let growth = self.grow(read);
        if growth.delta != Delta::default() {
            self.active = now;
        }
        if !soon {
            self.rate(&growth.delta, gap, now);
        }
        self.reading = Reading::Done;
        self.counted = now;
        Some(growth)
    }

    /// A driver reports the growth of several seconds at once, so rates of hardware cover the time
    /// between two reports.
    fn rate(&mut self, delta: &Delta, gap: Millis, now: Millis) {
        let silent = self.path == Path::Ended || now - self.active > QUIET_TIMEOUT_MS;
        let more = std::mem::take(&mut self.unrated);
        let mut driver = self.driver.as_deref_mut().filter(|_| self.path == Path::Hardware);
        for (i, bps) in [&mut self.up_bps, &mut self.down_bps].into_iter().enumerate() {
            let bytes = delta[i].bytes + more[i];
            let last = driver.as_ref().map(|driver| now - driver.grown[i]);
            if bytes > 0 || last.is_none_or(|last| last > QUIET_TIMEOUT_MS) {
                let gap = last.map_or(gap, |last| last.min(QUIET_TIMEOUT_MS));
                *bps = rate(bytes, gap, *bps, silent);
            }
            if let Some(driver) = driver.as_mut().filter(|_| bytes > 0) {
                driver.grown[i] = now;
            }
        }
    }

    /// Adds the growth of the kernel's counters. A lower value is a reset; growth between the last
    /// reading and the reset is lost. A reset is not detected if the counter has grown beyond its
    /// previous value.
    fn grow(&mut self, read: Delta) -> Growth {
        let mut zero = self.zeroed.as_deref().copied().unwrap_or_default();
        let known = zero;
        let mut shown = [self.up, self.down];
        let mut growth = Growth { delta: Delta::default(), before: Counters::default() };
        for i in 0..2 {
            // Check each counter separately, because the kernel does not reset them at once.
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

    /// Starts the next period of accounting, after the counters were credited.
    pub(crate) fn credited(&mut self) {
        self.inspected = self.path == Path::Inspect;
        self.best_path = (!self.inspected).then(|| self.counted_path());
    }

    /// Returns the path of packets that the kernel counts. The kernel does not count packets
    /// forwarded by eBPF, and packets after the end are slow.
    fn counted_path(&self) -> Path {
        match self.path {
            Path::Ebpf | Path::Ended => Path::Slow,
            path @ (Path::Slow | Path::Inspect | Path::Flowtable | Path::Hardware) => path,
        }
    }

    /// Returns path and reason. After a rule change, flows on eBPF are slow at once, although they
    /// are judged later.
    pub(crate) fn shown(&self, rules: &Rules) -> (Path, Option<Reason>) {
        let revoked = self.revoked(rules, self.active);
        revoked.map_or((self.path, self.reason), |step| (step.path, step.reason))
    }

    /// Returns the step of a rule change at `at` that was not judged yet.
    pub(crate) fn revoked(&self, rules: &Rules, at: Millis) -> Option<PathStep> {
        let reason = Some(Reason::Pending);
        let step = PathStep { at, path: Path::Slow, reason, state: self.tcp_state };
        let is_on = self.path == Path::Ebpf && self.offload == OffloadState::Offloaded;
        (is_on && self.rules.is_revoked(rules)).then_some(step)
    }

    /// Returns the time between becoming eligible and the last packet; 0 if not eligible.
    pub(crate) fn active_for(&self) -> Millis {
        if waiting(self.reason) { self.active - self.eligible } else { 0 }
    }

    /// Returns the time since which the software flowtable forwards the flow.
    pub(crate) fn taken_at(&self) -> Option<Millis> {
        let held = |step: &&PathStep| step.path == Path::Flowtable;
        self.life.iter().rev().take_while(held).last().map(|step| step.at)
    }

    /// Sets path and reason. Returns whether they have changed.
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
                self.best_path = self.best_path.max(Some(path));
            }
        }
        if self.life.len() == MAX_STEPS {
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

/// Adds the growth of a counter to `shown`. Returns the growth and the previous reading, which is 0
/// after a reset.
fn advance(shown: &mut u64, zero: &mut u64, read: u64) -> (u64, u64) {
    let mut before = shown.saturating_sub(*zero);
    if read < before {
        (*zero, before) = (*shown, 0);
    }
    let grown = read - before;
    *shown = shown.saturating_add(grown);
    (grown, before)
}

/// Returns the low bits of the start time in ms; `None` without a timestamp.
fn started(entry: &Entry) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "49 days apart differ in the rest")]
    let low = entry.start_ns.map(|ns| (ns / 1_000_000) as u32);
    low.filter(|low| *low != 0)
}

/// Returns whether the flow is eligible and the kernel decides about the offload.
fn waiting(reason: Option<Reason>) -> bool {
    matches!(reason, Some(Reason::Pending | Reason::NotTaken))
}

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
