// SPDX-License-Identifier: GPL-2.0-or-later
//! Reply of the ubus method `cpu` (`schema/cpu.json`), with the role of each CPU.

use config::Cause;
use serde::Serialize;

use crate::force::{Difference, Refused, differences};
use crate::machine::{Cpu, Device, Irq, Knob, Machine, Serves};
use crate::plan::{CpuPlan, Suricata};
use crate::set::CpuSet;
use crate::settings::Profile;
use crate::steering::{Hook, Steering};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuRole {
    Forwarding,
    Inspection,
    Control,
    /// Does everything: there is only one CPU, or the plan is inactive.
    Shared,
    /// Offline, isolated, or in no list.
    Unused,
}

#[derive(Debug, Clone, Serialize)]
pub struct View {
    enabled: bool,
    active: bool,
    why: String,
    cause: Cause,
    profile: Profile,
    cpus: Vec<CpuView>,
    queues: Vec<QueueView>,
    suricata: SuricataView,
    devices: Vec<DeviceView>,
    steering: SteeringView,
    differences: Vec<DifferenceView>,
}

#[derive(Debug, Clone, Serialize)]
struct CpuView {
    cpu: u32,
    role: CpuRole,
    online: bool,
    isolated: bool,
    capacity: u32,
    core: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct QueueView {
    queue: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct SuricataView {
    pinned: bool,
    management: CpuSet,
    workers: CpuSet,
}

#[derive(Debug, Clone, Serialize)]
struct DeviceView {
    device: String,
    carries: Vec<String>,
    irqs: Vec<IrqView>,
    threads: Vec<ThreadView>,
    rps: Vec<MapView>,
    xps: Vec<MapView>,
}

#[derive(Debug, Clone, Serialize)]
struct IrqView {
    irq: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<CpuSet>,
    have: CpuSet,
}

#[derive(Debug, Clone, Serialize)]
struct ThreadView {
    pid: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<CpuSet>,
    have: CpuSet,
}

#[derive(Debug, Clone, Serialize)]
struct MapView {
    queue: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<CpuSet>,
    have: CpuSet,
}

#[derive(Debug, Clone, Serialize)]
struct SteeringView {
    uci: String,
    hook: Hook,
    taken_over: bool,
    text: String,
    cause: Cause,
}

#[derive(Debug, Clone, Serialize)]
struct DifferenceView {
    #[serde(rename = "where")]
    place: String,
    wanted: CpuSet,
    have: CpuSet,
    text: String,
    cause: Cause,
}

impl View {
    /// Builds the reply. `refused` is from [`crate::Attempts`].
    #[must_use]
    pub fn new(
        plan: &CpuPlan,
        machine: &Machine,
        steering: &Steering,
        refused: &[Refused],
    ) -> Self {
        let Suricata { pinned, workers, management, .. } = &plan.suricata;
        let queues = (0_u32..).zip(workers);
        let steers = steering.reason(plan.active).cause();
        Self {
            enabled: plan.enabled,
            active: plan.active,
            why: plan.why.text.clone(),
            cause: plan.why.clone(),
            profile: plan.profile,
            cpus: machine.cpus.iter().map(|cpu| cpu_view(plan, cpu)).collect(),
            queues: queues
                .map(|(queue, cpu)| QueueView { queue, cpu: pinned.then_some(*cpu) })
                .collect(),
            suricata: SuricataView {
                pinned: *pinned,
                management: pinned.then(|| management.clone()).unwrap_or_default(),
                workers: workers.iter().copied().filter(|_| *pinned).collect(),
            },
            devices: machine.devices.iter().map(|device| device_view(plan, device)).collect(),
            steering: SteeringView {
                uci: steering.uci.clone().unwrap_or_default(),
                hook: steering.hook,
                taken_over: plan.active && steering.stays_away(),
                text: steers.text.clone(),
                cause: steers,
            },
            differences: differences(plan, machine)
                .iter()
                .map(|difference| difference_view(difference, refused))
                .collect(),
        }
    }
}

#[must_use]
pub fn role(plan: &CpuPlan, cpu: &Cpu) -> CpuRole {
    let split = &plan.split;
    if !cpu.online {
        CpuRole::Unused
    } else if !plan.active {
        CpuRole::Shared
    } else if split.forwarding.contains(cpu.cpu) {
        CpuRole::Forwarding
    } else if split.inspection.contains(cpu.cpu) {
        CpuRole::Inspection
    } else if split.control.contains(cpu.cpu) {
        CpuRole::Control
    } else {
        CpuRole::Unused
    }
}

fn cpu_view(plan: &CpuPlan, cpu: &Cpu) -> CpuView {
    CpuView {
        cpu: cpu.cpu,
        role: role(plan, cpu),
        online: cpu.online,
        isolated: cpu.isolated,
        capacity: cpu.capacity,
        core: cpu.core,
        node: cpu.node,
    }
}

fn device_view(plan: &CpuPlan, device: &Device) -> DeviceView {
    let wanted = |knob: &Knob| plan.wants.get(knob).cloned();
    let irq = |irq: &Irq| IrqView {
        irq: irq.number,
        name: irq.name.clone(),
        queue: if let Serves::Queue(queue) = irq.serves { Some(queue) } else { None },
        wanted: wanted(&irq.knob()),
        have: irq.affinity.clone(),
    };
    let maps = |have: &[Option<CpuSet>], knob: &dyn Fn(u32) -> Knob| {
        let map = |(queue, have): (u32, &Option<CpuSet>)| {
            let wanted = wanted(&knob(queue));
            Some(MapView { queue, wanted, have: have.clone()? })
        };
        (0..).zip(have).filter_map(map).collect()
    };
    let threads = device.threads.iter().map(|thread| ThreadView {
        pid: thread.pid,
        name: thread.name.clone(),
        wanted: wanted(&thread.knob()),
        have: thread.affinity.clone(),
    });
    DeviceView {
        device: device.name.clone(),
        carries: device.carries.clone(),
        irqs: device.irqs.iter().map(irq).collect(),
        threads: threads.collect(),
        rps: maps(&device.rx, &|queue| device.rps(queue)),
        xps: maps(&device.tx, &|queue| device.xps(queue)),
    }
}

fn difference_view(difference: &Difference, refused: &[Refused]) -> DifferenceView {
    let known = refused
        .iter()
        .find(|refused| refused.knob == difference.knob && refused.wanted == difference.wanted);
    let cause = difference.cause(known);
    DifferenceView {
        place: difference.knob.path(),
        wanted: difference.wanted.clone(),
        have: difference.have.clone(),
        text: cause.text.clone(),
        cause,
    }
}
