// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's gateway in several states, for the tests of this crate.

use std::time::Duration;

use ebpf::devices::TcReason;
use ebpf::entry_side::Hook;
use ebpf::fake::Fake;
use flows::Now;
use ruleset::Applied;
use serde_json::{Value, json};

use crate::api;
use crate::core::Core;
use crate::core::calls::{Outcome, call};
use crate::cpu::Sample;
use crate::effect::Effect as AnyEffect;
pub(crate) use crate::lab::{
    configuration, established, lab_dump, lab_firewall, lab_network, link, route,
};
use crate::offload::ebpf::{AttachOutcome, OpenMaps};
use crate::offload::{self, flowtable::Job, programs::Program};
use crate::sys::kernel::Machine;

pub(crate) fn core() -> Core {
    let machine = Machine { kernel: "6.12".into(), ..Machine::default() };
    Core::new(machine, Now { mono: Duration::ZERO, unix_ms: 1_000_000 })
}

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

/// Returns a core in the lab's network, with the flowtable in force.
pub(crate) fn running() -> Core {
    let mut core = core();
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    let effects = core.configuration_read(&configuration("flowtable"));
    assert!(matches!(effects[..], [AnyEffect::Rules(_)]), "{effects:?}");
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
    assert!(matches!(core.latency_second(), Some(AnyEffect::Latency(_))));
    assert_eq!(core.latency_done(Ok(::latency::Applied::Unchanged)), []);
    assert_eq!(core.attached(Ok(outcome(&Fake::default(), &[], &[]))), []);
    assert_eq!(core.applied(Ok(Applied::Replaced)), [AnyEffect::Api(api::Effect::AnswerEngine)]);
    core
}

/// Returns the outcome of an attachment with TC programs on `held` and no programs on `bare`.
pub(crate) fn outcome(maps: &Fake, held: &[&str], bare: &[&str]) -> AttachOutcome {
    let mut programs = Vec::new();
    let mut add = |device: &str, hook, hook_name| {
        let why = TcReason::NoXdp { device: device.to_owned() }.cause();
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

pub(crate) fn alert(src: &str, dst: &str) -> ips::Batch {
    let line = json!({
        "timestamp": "2026-11-21T08:00:00.000000+0000", "event_type": "alert",
        "flow_id": 1, "src_ip": src, "src_port": 80, "dest_ip": dst, "dest_port": 40000,
        "proto": "TCP", "direction": "to_client",
        "metadata": {"flowbits": ["fastpath.handshake"]},
        "alert": {"action": "blocked", "gid": 1, "signature_id": 8_100_001, "rev": 1,
            "signature": "output of id", "category": "x", "severity": 1},
        "flow": {"pkts_toserver": 4, "pkts_toclient": 3, "bytes_toserver": 1, "bytes_toclient": 1},
    });
    let event = ips::read_event(line.to_string().as_bytes()).unwrap();
    ips::Batch { events: vec![event], connected: true, ..ips::Batch::default() }
}
