// SPDX-License-Identifier: GPL-2.0-or-later
//! Starts and stops exporters, fills their queues, and reports their progress.

use std::rc::Rc;
use std::time::Duration;

use gateway::event::Event as AnyEvent;
use gateway::export::egress::EgressDevices;
use gateway::export::{
    Effect, Event, ExportReason, ExportState, Interfaces, Progress, Serial, Settings,
};
use ipfix::Protocol;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep_until, timeout};

use crate::export::feed::Feed;
use crate::export::logged::LastLine;
use crate::export::shared::Shared;
use crate::export::{route, tcp, udp};
use crate::io::Io;
use crate::sys::kernel::unix_ms;
use crate::sys::task::spawn_local;

const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Interval for partially filled messages and for progress reports.
pub(super) const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Exporters {
    pub(super) running: Vec<(Serial, Rc<Shared>)>,
    interfaces: Interfaces,
    pub(super) devices: Option<Rc<EgressDevices>>,
}

impl Exporters {
    pub(crate) fn execute(&mut self, effect: Effect, io: &Io) {
        match effect {
            Effect::Run(wanted) => {
                let takes = |kind| wanted.iter().any(|(_, settings)| settings.takes(kind));
                io.wanted_events.set(takes);
                self.run(wanted, &io.events);
            }
            Effect::Send(records) => {
                for (_, shared) in &self.running {
                    shared.send(&records);
                }
            }
            Effect::Forward(lines) => {
                for (_, shared) in &self.running {
                    shared.forward(&lines);
                }
            }
            Effect::Interfaces(interfaces) => {
                for (_, shared) in &self.running {
                    shared.interfaces.replace(interfaces.clone());
                    shared.renamed.set(true);
                }
                self.interfaces = interfaces;
            }
            Effect::EgressDevices(devices) => self.set_egress(devices),
        }
    }

    fn set_egress(&mut self, devices: EgressDevices) {
        self.devices = Some(Rc::new(devices));
        for (_, shared) in &self.running {
            shared.devices.replace(self.devices.clone());
            shared.ready.notify_one();
        }
    }

    fn run(&mut self, wanted: Vec<(Serial, Settings)>, events: &Sender<AnyEvent>) {
        let before = std::mem::take(&mut self.running);
        let (kept, ended): (Vec<_>, Vec<_>) = before
            .into_iter()
            .partition(|(serial, _)| wanted.iter().any(|(other, _)| other == serial));
        for (_, shared) in ended {
            shared.stop();
        }
        self.running = kept;
        for (serial, settings) in wanted {
            if self.running.iter().any(|(other, _)| *other == serial) {
                continue;
            }
            let shared = Rc::new(Shared::new(&settings));
            shared.interfaces.replace(self.interfaces.clone());
            shared.devices.replace(self.devices.clone());
            self.running.push((serial, shared.clone()));
            spawn_local(Exporter::new(serial, settings, shared, events.clone()).run());
        }
    }
}

#[derive(Debug)]
pub(super) enum End {
    Stopped,
    /// The egress device or the source address has changed.
    Moved,
    Failed(ExportReason),
}

pub(super) struct Exporter {
    serial: Serial,
    pub(super) settings: Settings,
    pub(super) shared: Rc<Shared>,
    pub(super) outbox: Feed,
    /// Device that the socket is bound to. `None` for any device.
    pub(super) device: Option<String>,
    events: Sender<AnyEvent>,
    started: Instant,
    progress: Progress,
    reported: Option<Progress>,
    logged: LastLine,
}

impl Exporter {
    pub(super) fn new(
        serial: Serial,
        settings: Settings,
        shared: Rc<Shared>,
        events: Sender<AnyEvent>,
    ) -> Self {
        Self {
            serial,
            outbox: Feed::new(&settings),
            device: None,
            settings,
            shared,
            events,
            started: Instant::now(),
            progress: Progress::begin(true, unix_ms()),
            reported: None,
            logged: LastLine::default(),
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let reason = match self.serve().await {
                End::Stopped => return,
                End::Moved => {
                    if self.settings.protocol() == Protocol::Tcp {
                        let now = self.now();
                        self.outbox.closed(&self.shared, now);
                    }
                    continue;
                }
                End::Failed(reason) => reason,
            };
            let now = self.now();
            self.outbox.closed(&self.shared, now);
            let state = reason.state();
            self.change(state, Some(reason));
            // A missing route may appear within a second.
            let interval = if state == ExportState::NoRoute { SECOND } else { RETRY_INTERVAL };
            let retry_at = Instant::now() + interval;
            while Instant::now() < retry_at {
                if self.report().await {
                    return;
                }
                sleep_until(retry_at.min(Instant::now() + SECOND)).await;
            }
        }
    }

    async fn serve(&mut self) -> End {
        let Some(egress) = self.egress() else {
            let _ = timeout(SECOND, self.shared.ready.notified()).await;
            return if self.report().await { End::Stopped } else { End::Moved };
        };
        match egress {
            Ok(device) => self.device = device,
            Err(reason) => return End::Failed(reason),
        }
        match self.settings.protocol() {
            Protocol::Udp => udp::serve(self).await,
            Protocol::Tcp => tcp::serve(self).await,
        }
    }

    /// Returns the device to bind to by the current routes and zones. `None` if they are unknown.
    fn egress(&self) -> Option<Result<Option<String>, ExportReason>> {
        let devices = self.shared.devices.borrow().clone()?;
        Some(devices.find(&self.settings, route::egress))
    }

    /// Returns the reason if messages must not leave by the socket's device.
    pub(super) fn egress_changed(&self) -> Option<End> {
        match self.egress()? {
            Ok(device) if device == self.device => None,
            Ok(_) => Some(End::Moved),
            Err(reason) => Some(End::Failed(reason)),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records that the collector was reached. `stalled` if the collector does not read.
    pub(super) fn reached(&mut self, stalled: bool) {
        self.change(ExportState::Up, stalled.then_some(ExportReason::Stalled));
    }

    fn change(&mut self, state: ExportState, reason: Option<ExportReason>) {
        let progress = &mut self.progress;
        if self.logged.changes(reason.as_ref()) {
            let name = self.settings.name();
            match &reason {
                Some(reason) => log::warn!("export {name}: {reason}"),
                None => log::info!("export {name}: the collector gets messages"),
            }
        }
        if progress.state != state {
            (progress.state, progress.since_ms) = (state, unix_ms());
        }
        progress.reason = reason;
    }

    pub(super) async fn report(&mut self) -> bool {
        let now = self.now();
        self.outbox.confirm(&self.shared, now);
        self.progress.sent = self.outbox.sent();
        self.progress.lost = self.outbox.lost() + self.shared.dropped.get();
        self.progress.queued = self.outbox.waiting(&self.shared);
        if self.reported.as_ref() != Some(&self.progress) {
            self.reported = Some(self.progress.clone());
            let event = Event::Progress(self.serial, self.progress.clone());
            if self.events.send(AnyEvent::Export(event)).await.is_err() {
                return true;
            }
        }
        self.shared.stopped.get()
    }

    pub(super) fn rename(&mut self) {
        self.outbox.rename(&self.shared);
    }
}

#[cfg(test)]
mod log_tests;
#[cfg(test)]
pub(super) mod tests;
