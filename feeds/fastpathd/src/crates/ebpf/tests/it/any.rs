// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the programs on damaged frames. Each frame must be passed unchanged, dropped, or rewritten
//! correctly, with wrong checksums staying wrong.

use ebpf::layout::{FLOW_DROP, Out};
use ebpf::programs::Dsa;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use crate::flow::{Flow, Pair};
use crate::frame::Packet;
use crate::kernel::{Action, HOOKS, Hook, Kernel, Metadata, Ran, allowed};
use crate::table::{flow, links_in, links_out, translations};

/// A modification of a valid frame.
#[derive(Clone, Debug)]
enum Damage {
    Byte(Index, u8),
    Bit(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    Remove(Index, u8),
    Grow(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    // Damage the headers more often than the payload.
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, to)| Damage::Byte(at, to)),
        4 => (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Damage::Bit(at, bit)),
        1 => any::<Index>().prop_map(Damage::Cut),
        1 => (any::<Index>(), vec(any::<u8>(), 1..9)).prop_map(|(at, b)| Damage::Insert(at, b)),
        1 => (any::<Index>(), 1..9_u8).prop_map(|(at, n)| Damage::Remove(at, n)),
        1 => vec(any::<u8>(), 0..100).prop_map(Damage::Grow),
    ]
}

fn damaged(mut frame: Vec<u8>, all: &[Damage]) -> Vec<u8> {
    for one in all {
        let headers = frame.len().min(100);
        match one {
            Damage::Byte(at, to) => frame[at.index(headers)] = *to,
            Damage::Bit(at, bit) => frame[at.index(headers)] ^= 1 << bit,
            Damage::Cut(at) => frame.truncate(at.index(headers)),
            Damage::Insert(at, bytes) => {
                let at = at.index(headers);
                frame.splice(at..at, bytes.iter().copied());
            }
            Damage::Remove(at, n) => {
                let at = at.index(headers);
                let end = frame.len().min(at + usize::from(*n));
                frame.drain(at..end);
            }
            Damage::Grow(bytes) => frame.extend(bytes),
        }
        // BPF_PROG_TEST_RUN refuses frames that are too short for Ethernet and an IP header.
        if frame.len() < 62 {
            frame.resize(62, 0);
        }
    }
    frame
}

#[expect(clippy::struct_excessive_bools, reason = "the dimensions of a table")]
#[derive(Clone, Debug)]
struct Case {
    hook: Hook,
    v6: bool,
    tcp: bool,
    /// TCP flags other than ACK.
    flags: Option<u8>,
    unchecked: bool,
    nat: Index,
    from: Index,
    to: Index,
    metadata: (bool, u8),
    payload: Vec<u8>,
    damage: Vec<Damage>,
    drop: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let kind = (prop::sample::select(&HOOKS[..]), any::<(bool, bool, bool)>());
    // Random damage seldom affects only the flags.
    let flags = prop::option::weighted(0.02, any::<u8>());
    let ends = (any::<(Index, Index, Index)>(), (any::<bool>(), 0..4_u8));
    let bytes = (vec(any::<u8>(), 0..300), vec(damage(), 0..4), prop::bool::weighted(0.05));
    (kind, flags, ends, bytes).prop_map(|((hook, kind), flags, (indices, metadata), bytes)| {
        let (v6, tcp, unchecked) = kind;
        let (nat, from, to) = indices;
        let (payload, damage, drop) = bytes;
        Case { hook, v6, tcp, flags, unchecked, nat, from, to, metadata, payload, damage, drop }
    })
}

impl Case {
    fn flow(&self) -> Flow {
        let (_, old, new) = translations(self.v6).swap_remove(self.nat.index(6));
        let from = links_in().swap_remove(self.from.index(8)).1;
        let to = links_out().swap_remove(self.to.index(8)).1;
        flow(&from, &to, (old, new), self.tcp)
    }

    fn frame(&self, flow: &Flow) -> Vec<u8> {
        let mut packet = Packet::new(flow.old, self.tcp, self.payload.clone());
        packet.unchecked = self.unchecked && !self.tcp && !self.v6;
        packet.flags = self.flags.unwrap_or(packet.flags);
        damaged(packet.frame(&flow.from), &self.damage)
    }

    fn metadata(&self) -> Metadata {
        Metadata { verified: self.metadata.0, gso_segs: 0, gso_size: 0, ..Metadata::default() }
    }
}

/// Returns the sum of all 16-bit words modulo 0xffff.
fn residue(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2).map(|p| u64::from(p[0]) << 8 | u64::from(*p.get(1).unwrap_or(&0)));
    pairs.sum::<u64>() % 0xffff
}

/// Splits an IP packet into IP header, transport header and payload.
fn parts(bytes: &[u8], v6: bool, tcp: bool) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let ip = if v6 { 40 } else { 20 };
    let l4 = ip + if tcp { 20 } else { 8 };
    (bytes[..ip].to_vec(), bytes[ip..l4].to_vec(), bytes[l4..].to_vec())
}

fn judge(case: &Case, flow: &Flow, frame: &[u8], ran: &Ran) -> Result<(), TestCaseError> {
    match ran.action {
        Action::Pass => {
            prop_assert_ne!(ran.out, Out::Forwarded);
            prop_assert_eq!(&ran.frame, frame, "passed, but changed");
            return Ok(());
        }
        Action::Drop => {
            // The test kernel always has headroom.
            prop_assert_eq!(ran.out, Out::Dropped);
            prop_assert!(case.drop);
            return Ok(());
        }
        Action::Redirect => prop_assert_eq!(ran.out, Out::Forwarded),
    }
    prop_assert!(!case.drop);
    // The link-layer header of a forwarded frame follows from the flow's key.
    let before = flow.from.bytes(case.v6, 0).len();
    let link = flow.to.bytes(case.v6, 0).len();
    let length = usize::from(if case.v6 {
        40 + u16::from_be_bytes([frame[before + 4], frame[before + 5]])
    } else {
        u16::from_be_bytes([frame[before + 2], frame[before + 3]])
    });
    prop_assert_eq!(&ran.frame[..link], &flow.to.bytes(case.v6, length)[..], "link layer");
    let (ip, l4, data) = parts(&frame[before..], case.v6, case.tcp);
    let (new_ip, new_l4, new_data) = parts(&ran.frame[link..], case.v6, case.tcp);
    prop_assert_eq!(data, new_data, "payload and padding");
    let ttl = if case.v6 { 7 } else { 8 };
    prop_assert_eq!(new_ip[ttl], ip[ttl] - 1);
    let addresses = if case.v6 { 8 } else { 12 };
    let check = if case.v6 { 40..40 } else { 10..12 };
    for at in 0..addresses {
        if at != ttl && !check.contains(&at) {
            prop_assert_eq!(new_ip[at], ip[at], "byte {} of IP", at);
        }
    }
    let wanted = Packet::new(flow.new, case.tcp, Vec::new()).bytes();
    prop_assert_eq!(&new_ip[addresses..], &wanted[addresses..ip.len()], "addresses");
    prop_assert_eq!(&new_l4[..4], &wanted[ip.len()..ip.len() + 4], "ports");
    let at = if case.tcp { 16 } else { 6 };
    for n in (4..l4.len()).filter(|n| !(at..at + 2).contains(n)) {
        prop_assert_eq!(new_l4[n], l4[n], "byte {} of the transport", n);
    }
    if !case.v6 {
        prop_assert_eq!(residue(&new_ip), residue(&ip), "sum of IP");
    }
    let sum = |ip: &[u8], l4: &[u8]| residue(&[&ip[addresses..], l4].concat());
    if !case.tcp && l4[6..8] == [0, 0] {
        prop_assert_eq!(&new_l4[6..8], &[0, 0], "still without a checksum");
    } else {
        prop_assert_eq!(sum(&new_ip, &new_l4), sum(&ip, &l4), "sum of the transport");
        prop_assert!(case.tcp || new_l4[6..8] != [0, 0], "still with a checksum");
    }
    Ok(())
}

fn run(kernel: &mut Kernel, case: &Case) -> Result<Out, TestCaseError> {
    let flow = case.flow();
    let mut pair: Pair = flow.pair(case.hook);
    if case.drop {
        pair.entry().flags |= FLOW_DROP;
    }
    let frame = case.frame(&flow);
    kernel.put(&pair);
    let ran = kernel.run(case.hook, &frame, case.metadata());
    kernel.remove(&pair);
    judge(case, &flow, &frame, &ran)?;
    Ok(ran.out)
}

/// Default number of damaged frames.
const FRAMES: u32 = 20_000;

/// Returns the number of damaged frames, from the environment variable `DAMAGED_FRAMES` if set.
fn frames() -> u32 {
    std::env::var("DAMAGED_FRAMES").map_or(FRAMES, |text| text.parse().expect("a number"))
}

#[test]
fn damaged_frames_are_passed_dropped_or_rewritten_correctly() {
    if !allowed() {
        return;
    }
    let cases = frames();
    let mut kernel = Kernel::new(Dsa::None);
    let mut seen = std::collections::BTreeMap::<Out, u32>::new();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let kernel = std::cell::RefCell::new((&mut kernel, &mut seen));
    let result = runner.run(&case(), |case| {
        let (kernel, seen) = &mut *kernel.borrow_mut();
        *seen.entry(run(kernel, &case)?).or_default() += 1;
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    let exits = kernel.into_inner().0.exits();
    assert!(exits.seen() >= u64::from(cases), "{} of {cases}", exits.seen());
    println!("{seen:?}");
    // The random frames must cover these exits.
    for out in [Out::Forwarded, Out::Unknown, Out::NotIp, Out::Malformed, Out::Dropped, Out::Tcp] {
        assert!(seen.get(&out).is_some_and(|n| *n > 20), "{out:?}: {seen:?}");
    }
}

#[test]
fn arbitrary_bytes_are_passed_unchanged() {
    if !allowed() {
        return;
    }
    let mut kernel = Kernel::new(Dsa::None);
    for switch in Dsa::ALL {
        let mut kernel = if switch == Dsa::None { &mut kernel } else { &mut Kernel::new(switch) };
        let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new(config);
        let cell = std::cell::RefCell::new(&mut kernel);
        let bytes = (prop::sample::select(&HOOKS[..]), vec(any::<u8>(), 62..600));
        let result = runner.run(&bytes, |(hook, bytes)| {
            let ran = cell.borrow_mut().run(hook, &bytes, Metadata::default());
            prop_assert_eq!(ran.action, Action::Pass);
            prop_assert_eq!(ran.frame, bytes);
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{switch:?}: {e}"));
    }
}
