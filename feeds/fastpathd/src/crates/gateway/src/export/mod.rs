// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports flow records and Suricata's events: selects collectors and their data, and keeps their
//! progress. The tasks that own the sockets are in crate `fastpathd`.

use std::rc::Rc;
use std::time::Duration;

use flows::{FlowRecord, RecordTimeouts};
use ipfix::Queue;
use ips::EventLine;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;

pub(crate) mod answer;
mod progress;
mod record;
mod settings;
#[cfg(test)]
mod tests;
pub mod way;

pub use progress::{ExportReason, ExportState, Progress};
pub use settings::Settings;
use way::Ways;

#[derive(Debug)]
pub enum Event {
    /// Counts, state or reason of an exporter have changed.
    Progress(Serial, Progress),
}

/// A request to the exporters.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run exactly these exporters.
    Run(Vec<(Serial, Settings)>),
    /// Send records to the collectors of flows.
    Send(Queue),
    /// Forward events of Suricata to the collectors of logs.
    HandOn(Vec<EventLine>),
    /// Set indexes and names of the devices.
    Interfaces(Interfaces),
    /// Set the devices that messages may leave by.
    Ways(Ways),
}

/// Flows per batch of records, a small part of a queue.
const FLOWS: usize = 2000;

/// Distinguishes an exporter from earlier ones with other settings.
pub type Serial = u64;

/// Indexes and names of devices.
pub type Interfaces = Rc<[(u32, Rc<str>)]>;

/// A collector of the configuration.
#[derive(Debug)]
struct Export {
    serial: Serial,
    settings: Settings,
    progress: Progress,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    exports: Vec<Export>,
    /// Serial number of the last exporter.
    last: Serial,
    /// Devices as last sent to the exporters.
    interfaces: Interfaces,
    ways: Option<Ways>,
}

impl State {
    fn enabled(&self) -> impl Iterator<Item = &Settings> {
        self.exports.iter().map(|export| &export.settings).filter(|settings| settings.is_enabled())
    }

    fn of_flows(&self) -> impl Iterator<Item = &ipfix::Settings> {
        self.enabled().filter_map(Settings::of_flows)
    }

    /// Returns the shortest timeouts, because all collectors get the same records.
    fn timeouts(&self) -> Option<RecordTimeouts> {
        let seconds = |of: fn(&ipfix::Settings) -> u32| {
            self.of_flows().map(of).min().map(|seconds| Duration::from_secs(seconds.into()))
        };
        let active = seconds(|settings| settings.active_timeout)?;
        let idle = seconds(|settings| settings.idle_timeout)?;
        Some(RecordTimeouts { active, idle })
    }
}

impl Core {
    pub fn export_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Progress(serial, progress) => {
                let mut exports = self.export.exports.iter_mut();
                if let Some(export) = exports.find(|export| export.serial == serial) {
                    export.progress = progress;
                }
                Vec::new()
            }
        }
    }

    /// Applies settings. Keeps exporters with unchanged settings, and their counts.
    pub(crate) fn configure_export(&mut self, settings: &[Settings]) -> Option<AnyEffect> {
        let state = &mut self.export;
        if state.exports.iter().map(|export| &export.settings).eq(settings) {
            return None;
        }
        let mut before = std::mem::take(&mut state.exports);
        for wanted in settings {
            let same = before.iter().position(|export| export.settings == *wanted);
            state.exports.push(same.map_or_else(
                || {
                    state.last += 1;
                    let (serial, settings) = (state.last, wanted.clone());
                    let progress = Progress::begin(settings.is_enabled(), self.now.unix_ms);
                    Export { serial, settings, progress }
                },
                |at| before.swap_remove(at),
            ));
        }
        let timeouts = state.timeouts();
        self.conntrack.flows_mut().record(timeouts, self.now);
        let used = self.export.exports.iter().filter(|export| export.settings.is_enabled());
        let run = used.map(|export| (export.serial, export.settings.clone())).collect();
        Some(AnyEffect::Export(Effect::Run(run)))
    }

    /// Sends the records that conntrack's entries and events have caused.
    pub(crate) fn export_records(&mut self) -> Option<AnyEffect> {
        let records = self.conntrack.flows_mut().records();
        (!records.is_empty()).then(|| AnyEffect::Export(Effect::Send(self.encoded(&records))))
    }

    fn encoded(&self, records: &[FlowRecord]) -> Queue {
        let topology = self.network.view().topology();
        let index = |device: &str| topology.link_named(device).map_or(0, |link| link.index);
        let mut queue = Queue::new();
        for one in records {
            queue.push(&record::flow(one, index));
        }
        queue
    }

    /// Returns the collectors that are receiving flow records.
    pub fn reading_records(&self) -> Vec<Serial> {
        let reads = |one: &&Export| {
            let progress = &one.progress;
            let reached = progress.state == ExportState::Up && progress.reason.is_none();
            reached && one.settings.of_flows().is_some()
        };
        self.export.exports.iter().filter(reads).map(|export| export.serial).collect()
    }

    /// Returns the last records of the next batch of flows, from index `next` of the table on;
    /// `None` after the last batch.
    pub fn last_records(&mut self, next: &mut usize) -> Option<Queue> {
        let now = self.now;
        let flows = self.conntrack.flows_mut();
        if *next >= flows.len() {
            return None;
        }
        flows.record_rest(*next..*next + FLOWS, now);
        *next += FLOWS;
        let records = flows.records();
        Some(self.encoded(&records))
    }

    /// Forwards events unchanged, if any collector wants them.
    pub(crate) fn export_events(&self, lines: Vec<EventLine>) -> Option<AnyEffect> {
        let wanted = |line: &EventLine| self.export.enabled().any(|one| one.takes(line.kind));
        lines.iter().any(wanted).then_some(AnyEffect::Export(Effect::HandOn(lines)))
    }

    pub(crate) fn export_second(&mut self) -> Vec<AnyEffect> {
        self.export_ways().into_iter().chain(self.export_interfaces()).collect()
    }

    fn export_ways(&mut self) -> Option<AnyEffect> {
        self.export.enabled().next()?;
        let ways = self.ways().filter(|ways| self.export.ways.as_ref() != Some(ways))?;
        self.export.ways = Some(ways.clone());
        Some(AnyEffect::Export(Effect::Ways(ways)))
    }

    fn export_interfaces(&mut self) -> Option<AnyEffect> {
        self.export.of_flows().next()?;
        let links = self.network.view().topology().links();
        let current = || links.map(|link| (link.index, Rc::from(&*link.name)));
        let interfaces: Interfaces = current().collect();
        if interfaces == self.export.interfaces {
            return None;
        }
        self.export.interfaces = interfaces.clone();
        Some(AnyEffect::Export(Effect::Interfaces(interfaces)))
    }
}
