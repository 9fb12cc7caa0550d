// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's gateway in several states, for the tests of this crate.

use std::time::Duration;

use ctnetlink::{Counters, Entry, Status, TcpState, Tuple};
use ebpf::devices::NotNative;
use ebpf::entry_side::Hook;
use ebpf::fake::Fake;
use flows::Now;
use ruleset::Applied;
use serde_json::Value;

use crate::bus;
use crate::bus::methods::{Outcome, call};
use crate::core::Core;
use crate::cpu::Sample;
use crate::effect::Effect as AnyEffect;
pub(crate) use crate::lab::{configuration, lab_dump, lab_firewall, lab_network, link, route};
use crate::offload::ebpf::{AttachOutcome, OpenMaps};
use crate::offload::{self, Program, flowtable::Job};
use crate::sys::kernel::Machine;

/// Returns the conntrack entry of a masqueraded download by 10.10.10.10.
pub(crate) fn established(id: u32, offloaded: bool) -> Entry {
    let (host, server) = ("10.10.10.10".parse().unwrap(), "203.0.113.1".parse().unwrap());
    let bit = if offloaded { Status::OFFLOAD } else { Status::default() };
    Entry {
        id,
        zone: 0,
        orig: Tuple { src: host, dst: server, proto: 6, sport: 40_000, dport: 80 },
        reply: Tuple {
            src: server,
            dst: "198.51.100.10".parse().unwrap(),
            proto: 6,
            sport: 80,
            dport: 40_000,
        },
        status: Status::SEEN_REPLY | Status::ASSURED | Status::CONFIRMED | bit,
        timeout_s: (!offloaded).then_some(7440),
        mark: 0,
        tcp_state: (!offloaded).then_some(TcpState::Established),
        helper: false,
        seq_adjust: false,
        orig_counters: Some(Counters { packets: 10, bytes: 1000 }),
        reply_counters: Some(Counters { packets: 100, bytes: 150_000 }),
        start_ns: None,
    }
}

pub(crate) fn core() -> Core {
    let machine = Machine { kernel: "6.12".into(), ..Machine::default() };
    Core::new(machine, Now { mono: Duration::ZERO, unix_ms: 1_000_000 })
}

/// Returns the sample of a machine with one CPU and no network queues.
pub(crate) fn machine_sample() -> Sample {
    let one = cpu::Cpu {
        cpu: 0,
        online: true,
        isolated: false,
        capacity: cpu::FULL_CAPACITY,
        core: 0,
        node: None,
    };
    let machine = cpu::Machine { cpus: vec![one], devices: Vec::new() };
    let steering = cpu::Steering { service: false, hook: cpu::Hook::Absent, uci: None };
    Sample { machine, steering, refusals: String::new() }
}

/// Returns a core that knows the lab's network and has the flowtable in force.
pub(crate) fn running() -> Core {
    let mut core = core();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    assert!(core.configuration_read(&configuration("flowtable")).is_empty());
    let effects = core.network_changed(lab_network());
    assert!(
        matches!(
            &effects[..],
            [
                AnyEffect::Offload(offload::Effect::Attach(_)),
                AnyEffect::Offload(offload::Effect::Run(Job::Apply { .. }))
            ]
        ),
        "{effects:?}"
    );
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Bus(bus::Effect::AnswerEngine)]);
    core
}

/// Returns the outcome of an attachment with TC programs on `held` and no programs on `bare`.
pub(crate) fn outcome(maps: &Fake, held: &[&str], bare: &[&str]) -> AttachOutcome {
    let mut programs = Vec::new();
    let mut add = |device: &str, hook, hook_name| {
        let why = NotNative::NoXdp { device: device.to_owned() }.cause();
        programs.push(Program { device: device.to_owned(), hook, hook_name, why });
    };
    for device in held {
        add(device, Some(Hook::Tc), "tcx");
    }
    for device in bare {
        add(device, None, "");
    }
    let opened = OpenMaps { maps: Box::new(maps.clone()), capacity: 64, id: 1 };
    AttachOutcome { programs, opened: (!held.is_empty()).then_some(opened) }
}

pub(crate) fn ask(core: &mut Core, method: &str, args: Value) -> Value {
    let Value::Object(args) = args else { panic!("{args}") };
    match call(core, method, args) {
        Outcome::Reply(Ok(answer), _) => Value::Object(answer.decode().unwrap()),
        other => panic!("{method}: {other:?}"),
    }
}
