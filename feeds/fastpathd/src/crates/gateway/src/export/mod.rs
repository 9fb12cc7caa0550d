// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports flow records and Suricata's events. Crate `fastpathd` owns the sockets.

use std::rc::Rc;
use std::time::Duration;

use flows::{FlowRecord, Now, RecordTimeouts};
use ipfix::Queue;
use ips::EventLine;
use topology::Topology;

pub(crate) mod answer;
pub mod egress;
mod progress;
mod record;
mod settings;

use egress::EgressDevices;
pub use progress::{ExportReason, ExportState, Progress};
pub use settings::Settings;

#[derive(Debug)]
pub enum Event {
    /// Counts, state or reason of an exporter have changed.
    Progress(Serial, Progress),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run exactly these exporters.
    Run(Vec<(Serial, Settings)>),
    /// Send records to the collectors of flows.
    Send(Queue),
    /// Forward events of Suricata to the collectors of logs.
    Forward(Vec<EventLine>),
    Interfaces(Interfaces),
    EgressDevices(EgressDevices),
}

/// Distinguishes an exporter from earlier ones with other settings.
pub type Serial = u64;

/// Indexes and names of devices.
pub type Interfaces = Rc<[(u32, Rc<str>)]>;

#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) serial: Serial,
    pub(crate) settings: Settings,
    pub(crate) progress: Progress,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    exports: Vec<Export>,
    /// Serial number of the last exporter.
    last: Serial,
    /// Devices as last sent to the exporters.
    interfaces: Interfaces,
    devices: Option<EgressDevices>,
}

impl State {
    fn enabled(&self) -> impl Iterator<Item = &Settings> {
        self.exports.iter().map(|export| &export.settings).filter(|settings| settings.is_enabled())
    }

    fn flow_collectors(&self) -> impl Iterator<Item = &ipfix::Settings> {
        self.enabled().filter_map(Settings::flow_settings)
    }

    /// Returns the shortest timeouts, because all collectors get the same records.
    pub(crate) fn timeouts(&self) -> Option<RecordTimeouts> {
        let seconds = |of: fn(&ipfix::Settings) -> u32| {
            self.flow_collectors().map(of).min().map(|seconds| Duration::from_secs(seconds.into()))
        };
        let active = seconds(|settings| settings.active_timeout)?;
        let idle = seconds(|settings| settings.idle_timeout)?;
        Some(RecordTimeouts { active, idle })
    }

    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Progress(serial, progress) => {
                let mut exports = self.exports.iter_mut();
                if let Some(export) = exports.find(|export| export.serial == serial) {
                    export.progress = progress;
                }
            }
        }
    }

    /// Applies settings. Keeps exporters with unchanged settings, and their counts. `None` if
    /// nothing has changed.
    pub(crate) fn configure(&mut self, settings: &[Settings], now: Now) -> Option<Effect> {
        if self.exports.iter().map(|export| &export.settings).eq(settings) {
            return None;
        }
        let mut before = std::mem::take(&mut self.exports);
        for wanted in settings {
            let same = before.iter().position(|export| export.settings == *wanted);
            self.exports.push(same.map_or_else(
                || {
                    self.last += 1;
                    let (serial, settings) = (self.last, wanted.clone());
                    let progress = Progress::begin(settings.is_enabled(), now.unix_ms);
                    Export { serial, settings, progress }
                },
                |at| before.swap_remove(at),
            ));
        }
        let used = self.exports.iter().filter(|export| export.settings.is_enabled());
        Some(Effect::Run(used.map(|export| (export.serial, export.settings.clone())).collect()))
    }

    pub(crate) fn reading_records(&self) -> Vec<Serial> {
        let reads = |one: &&Export| {
            let progress = &one.progress;
            let reached = progress.state == ExportState::Up && progress.reason.is_none();
            reached && one.settings.flow_settings().is_some()
        };
        self.exports.iter().filter(reads).map(|export| export.serial).collect()
    }

    /// Forwards events unchanged, if any collector wants them.
    pub(crate) fn forward(&self, lines: Vec<EventLine>) -> Option<Effect> {
        let wanted = |line: &EventLine| self.enabled().any(|one| one.takes(line.kind));
        lines.iter().any(wanted).then_some(Effect::Forward(lines))
    }

    pub(crate) fn set_egress(
        &mut self,
        devices: impl FnOnce() -> Option<EgressDevices>,
    ) -> Option<Effect> {
        self.enabled().next()?;
        let devices = devices().filter(|devices| self.devices.as_ref() != Some(devices))?;
        self.devices = Some(devices.clone());
        Some(Effect::EgressDevices(devices))
    }

    pub(crate) fn set_interfaces(&mut self, topology: &Topology) -> Option<Effect> {
        self.flow_collectors().next()?;
        let current = topology.links().map(|link| (link.index, Rc::from(&*link.name)));
        let interfaces: Interfaces = current.collect();
        if interfaces == self.interfaces {
            return None;
        }
        self.interfaces = interfaces.clone();
        Some(Effect::Interfaces(interfaces))
    }
}

pub(crate) fn encoded(records: &[FlowRecord], topology: &Topology) -> Queue {
    let index = |device: &str| topology.link_named(device).map_or(0, |link| link.index);
    let mut queue = Queue::new();
    for one in records {
        queue.push(&record::flow(one, index));
    }
    queue
}
