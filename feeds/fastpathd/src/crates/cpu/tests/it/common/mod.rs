// SPDX-License-Identifier: GPL-2.0-or-later
//! Compact notation for machines.

use std::collections::BTreeMap;
use std::str::FromStr;

use cpu::{Cpu, CpuSet, Device, FULL_CAPACITY, Irq, Machine, Serves, Thread};

pub(crate) fn set(text: &str) -> CpuSet {
    text.parse().expect(text)
}

/// Parses a machine from lines of these kinds:
///
/// * `cpus LIST [capacity=N] [node=N]`
/// * `cores LIST LIST …`: hyperthread siblings
/// * `isolated LIST`, `offline LIST`
/// * `device NAME rx=N tx=N irqs=KIND [hardware=NAME] [node=N] [threads=N]`. KIND is `txrx` (one
///   interrupt per queue pair, and one for the link), `rx+tx` (two per queue), `virtio`, `one` (one
///   without a queue in its name), `three` (three of them) or `none`.
pub(crate) fn machine(text: &str) -> Machine {
    let mut machine = Machine::default();
    let mut next_irq = 24;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["cpus", list, options @ ..] => {
                let options = Options::of(options);
                machine.cpus.extend(set(list).iter().map(|cpu| Cpu {
                    cpu,
                    online: true,
                    isolated: false,
                    capacity: options.number("capacity").unwrap_or(FULL_CAPACITY),
                    core: cpu,
                    node: options.number("node"),
                }));
            }
            ["cores", cores @ ..] => {
                for core in cores.iter().map(|core| set(core)) {
                    each(&mut machine, &core, |cpu| cpu.core = core.first().unwrap());
                }
            }
            ["isolated", list] => each(&mut machine, &set(list), |cpu| cpu.isolated = true),
            ["offline", list] => each(&mut machine, &set(list), |cpu| cpu.online = false),
            ["device", name, options @ ..] => {
                let device = device(&machine, name, &Options::of(options), &mut next_irq);
                machine.devices.push(device);
            }
            _ => panic!("{line}"),
        }
    }
    machine.devices.sort_by(|a, b| a.name.cmp(&b.name));
    machine
}

fn each(machine: &mut Machine, cpus: &CpuSet, change: impl Fn(&mut Cpu)) {
    machine.cpus.iter_mut().filter(|cpu| cpus.contains(cpu.cpu)).for_each(change);
}

struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    fn of(words: &[&'a str]) -> Self {
        Self(words.iter().map(|word| word.split_once('=').expect(word)).collect())
    }

    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.0.get(name).and_then(|text| text.parse().ok())
    }
}

fn device(machine: &Machine, name: &str, options: &Options<'_>, next_irq: &mut u32) -> Device {
    let hardware = options.0.get("hardware").copied().unwrap_or(name).to_owned();
    let shared = machine.devices.iter().find(|device| device.hardware == hardware);
    let rx: u32 = options.number("rx").unwrap();
    let tx: u32 = options.number("tx").unwrap();
    let irqs = shared.map_or_else(
        || irqs(name, options.0["irqs"], rx.max(tx), next_irq),
        |device| device.irqs.clone(),
    );
    let threads = (0..options.number("threads").unwrap_or(0)).map(|index| Thread {
        pid: 900 + index,
        name: format!("napi/{hardware}-{}", 8193 + index),
        affinity: machine.online(),
    });
    Device {
        name: name.to_owned(),
        carries: vec![name.to_owned()],
        node: options.number("node"),
        irqs: irqs.into_iter().map(|irq| Irq { affinity: machine.online(), ..irq }).collect(),
        threads: threads.collect(),
        rx: (0..rx).map(|_| Some(CpuSet::new())).collect(),
        tx: (0..tx).map(|_| (tx > 1).then(CpuSet::new)).collect(),
        hardware,
    }
}

fn irqs(name: &str, kind: &str, queues: u32, next_irq: &mut u32) -> Vec<Irq> {
    let queue = |text: String, queue| (text, Serves::Queue(queue));
    let named: Vec<(String, Serves)> = match kind {
        "txrx" => std::iter::once((name.to_owned(), Serves::Other))
            .chain((0..queues).map(|q| queue(format!("{name}-TxRx-{q}"), q)))
            .collect(),
        "rx+tx" => (0..queues)
            .flat_map(|q| [queue(format!("{name}-rx-{q}"), q), queue(format!("{name}-tx-{q}"), q)])
            .collect(),
        "virtio" => std::iter::once((format!("virtio-{name}-config"), Serves::Other))
            .chain((0..queues).flat_map(|q| {
                let text = |direction: &str| format!("virtio-{name}-{direction}.{q}");
                [queue(text("input"), q), queue(text("output"), q)]
            }))
            .collect(),
        "one" => vec![(name.to_owned(), Serves::Unknown)],
        "three" => vec![(format!("{name}.ethernet"), Serves::Unknown); 3],
        "none" => Vec::new(),
        _ => panic!("irqs={kind}"),
    };
    let irq = |(name, serves)| {
        *next_irq += 1;
        Irq { number: *next_irq - 1, name, serves, affinity: CpuSet::new() }
    };
    named.into_iter().map(irq).collect()
}
