// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon's loop, start and shutdown. The loop passes events to the core and executes the
//! core's effects with `run/`.

use std::time::Duration;

use flows::Now;
use gateway::core::Core;
use gateway::effect::Effect;
use gateway::event::Event;
use gateway::sys::error::chain;
use gateway::{configuration, ips, offload};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, timeout};

use crate::bus::notify::AlertsNotified;
use crate::bus::requests::Requests;
use crate::export::end::SEND_TIMEOUT;
use crate::io::{Io, Paths};
use crate::run::ips::ProbeControl;
use crate::sys::kernel;
use crate::sys::task::spawn_local;
use crate::{bus, export, run};

mod inbox;

use inbox::{Inbox, Incoming};

/// Seconds without ubus or rpcd after which the configuration file is read directly.
const FILE_FALLBACK_S: u64 = 10;
/// Seconds between attempts to read the configuration.
const RETRY_S: u64 = 3;
/// Timeouts of the shutdown steps. procd kills the daemon 5 s after SIGTERM, and sending the last
/// records takes up to one second.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
const REMOVE_TIMEOUT: Duration = Duration::from_millis(1500);
/// The history is being written from the beginning of the shutdown.
const HISTORY_TIMEOUT: Duration = Duration::from_millis(500);
const DETACH_TIMEOUT: Duration = Duration::from_secs(1);
/// Seconds between readings of the local time offset, which daylight saving time changes.
const OFFSET_INTERVAL_S: u64 = 3600;

pub(crate) struct Daemon {
    pub(crate) core: Core,
    pub(crate) io: Io,
    pub(crate) requests: Requests,
    pub(crate) subscribed: bool,
    /// The configuration has not been read over the current ubus connection.
    pub(crate) unread: bool,
    pub(crate) alerts_notified: AlertsNotified,
    probe: ProbeControl,
    exporters: export::run::Exporters,
    offset_s: i64,
    ticks: u64,
}

pub(crate) async fn serve(paths: Paths) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let (senders, mut inbox) = Inbox::new();
    let events = senders.others;
    spawn_local(bus::connection::keep(paths.socket.clone(), senders.calls));
    spawn_local(run::network::watch(events.clone()));
    spawn_local(run::stations::watch(events.clone()));
    let (after_conntrack, reports) = mpsc::unbounded_channel();
    spawn_local(run::conntrack::watch(events.clone(), reports));
    // Subscribe before reading the generation to miss no change.
    let changes = run::offload::subscribe();
    spawn_local(run::offload::watch(changes, events.clone()));
    let known = run::offload::rules_are_known(&paths.generation()).await;
    let mut daemon = Daemon::new(paths, events, after_conntrack);
    if known {
        daemon.core.trust_first_dump();
    }
    // Read the rules first, so that no flow is offloaded that a rule acts on.
    let rules = run::offload::read_rules(&daemon.io.nft).await;
    daemon.core.start_with_rules(rules);
    daemon.start();
    if daemon.core.machine().ipsec {
        spawn_local(run::offload::watch_policies(daemon.io.events.clone()));
    }
    spawn_local(run::offload::switches::watch(daemon.io.events.clone()));
    let io = &daemon.io;
    spawn_local(run::offload::probe_bridge(io.nft.clone(), io.events.clone()));
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(event) = inbox.next() => daemon.handle(event),
            _ = second.tick() => daemon.second(),
            _ = hangup.recv() => daemon.read_configuration(),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    Box::pin(daemon.shut_down(&mut inbox)).await;
    Ok(())
}

impl Daemon {
    fn new(
        paths: Paths,
        events: mpsc::Sender<Event>,
        after_conntrack: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let started = Now { mono: Duration::ZERO, unix_ms: kernel::unix_ms() };
        let machine = kernel::read(started, &paths.own_rules);
        Self {
            core: Core::new(machine, started),
            io: Io::new(paths, events, after_conntrack),
            requests: Requests::default(),
            subscribed: false,
            unread: false,
            alerts_notified: AlertsNotified::default(),
            probe: ProbeControl::default(),
            exporters: export::run::Exporters::default(),
            offset_s: 0,
            ticks: 0,
        }
    }

    fn start(&mut self) {
        run::ips::start(&self.io, &self.probe);
        if let Some(found) = run::cpu::saved() {
            self.core.restore_cpu(found);
        }
        self.core.restore_alerts(&run::ips::saved_alerts(&self.io));
        self.alerts_notified = AlertsNotified::after(self.core.ips().newest_alert());
        run::history::open(&self.io);
        self.execute(vec![
            Effect::Ips(ips::Effect::ReadTable),
            Effect::Offload(offload::Effect::SaveGeneration),
        ]);
    }

    fn set_clock(&mut self) {
        let now = Now { mono: self.io.started.elapsed(), unix_ms: kernel::unix_ms() };
        self.core.set_clock(now, kernel::cpu_time());
    }

    fn handle(&mut self, incoming: Incoming) {
        self.set_clock();
        let effects = match incoming {
            Incoming::Bus(event) => self.bus_event(event),
            Incoming::Other(Event::Configuration(event)) => return self.configuration_event(event),
            Incoming::Other(event) => self.core.handle(event),
        };
        self.finish(effects);
        self.answer_for_network();
    }

    fn answer_for_network(&mut self) {
        let (known, now) = (self.core.network().is_known(), self.core.now().mono);
        for request in self.requests.network_read(known, now) {
            let effects = self.invoke(request);
            self.execute(effects);
        }
    }

    /// Handles a reading of the configuration and answers the requests deferred for it.
    fn configuration_event(&mut self, event: configuration::Event) {
        self.unread &= matches!(event, configuration::Event::NotYet(_));
        let effects = self.core.handle(Event::Configuration(event));
        self.finish(effects);
        for request in self.requests.reading_ends() {
            let effects = self.invoke(request);
            self.execute(effects);
        }
    }

    fn finish(&mut self, effects: Vec<Effect>) {
        self.execute(effects);
        let inspection = self.core.ips().inspection();
        self.probe.enabled.set(inspection.is_enabled());
        self.probe.incomplete.set(inspection.is_incomplete());
        self.notify_alerts();
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Api(effect) => self.api_effect(effect),
                Effect::Configuration(effect) => self.configuration_effect(&effect),
                Effect::Conntrack(effect) => run::conntrack::execute(effect, &self.io),
                Effect::Cpu(effect) => run::cpu::execute(effect, &self.io),
                Effect::Devices(effect) => run::devices::execute(effect, &self.io),
                Effect::Doctor(effect) => run::doctor::execute(&effect, &self.io),
                Effect::Export(effect) => self.exporters.execute(effect, &self.io),
                Effect::History(effect) => run::history::execute(effect, &self.io),
                Effect::Ips(effect) => run::ips::execute(effect, &mut self.core, &self.io),
                Effect::Latency(effect) => run::latency::execute(effect, &self.io),
                Effect::Network(effect) => run::network::execute(effect, &self.io),
                Effect::Offload(effect) => run::offload::execute(effect, &self.core, &self.io),
                Effect::Rules(effect) => run::rules::execute(effect, &self.io),
            }
        }
    }

    fn configuration_effect(&mut self, effect: &configuration::Effect) {
        match effect {
            configuration::Effect::Read => self.read_configuration(),
        }
    }

    fn read_configuration(&mut self) {
        if self.io.bus.is_some() {
            self.requests.reading_begins();
        }
        let file = self.io.paths.config.clone();
        let is_first = self.core.configuration().settings().is_none();
        self.io.with_bus(|bus, events| run::configuration::read(bus, file, is_first, events));
    }

    fn second(&mut self) {
        self.set_clock();
        if self.ticks.is_multiple_of(OFFSET_INTERVAL_S) {
            self.offset_s = kernel::offset_s();
        }
        self.ticks += 1;
        let readings = kernel::readings(&self.io.paths.leases, self.offset_s);
        let effects = self.core.second(&readings);
        self.execute(effects);
        self.answer_for_network();
        if self.ticks == FILE_FALLBACK_S && self.core.configuration().settings().is_none() {
            let event = run::configuration::read_file(&self.io.paths.config);
            let effects = self.core.handle(Event::Configuration(event));
            self.execute(effects);
        }
        if self.unread && self.ticks.is_multiple_of(RETRY_S) {
            self.read_configuration();
        }
        // Notify alerts first: the tick has the id of the newest alert, and clients would request
        // it.
        self.notify_alerts();
        self.notify_tick();
    }

    /// Sends the last records to collectors. The next daemon reports only later growth.
    async fn send_last_records(&mut self, inbox: &mut Inbox) {
        self.set_clock();
        let (core, mut next) = (&mut self.core, 0);
        let serials = core.reading_records();
        let sent = self.exporters.finish(&serials, SEND_TIMEOUT, || core.last_records(&mut next));
        tokio::pin!(sent);
        loop {
            tokio::select! {
                () = &mut sent => return,
                // Receive the exporters' reports, or they would block.
                Some(_) = inbox.next() => {}
            }
        }
    }

    async fn shut_down(mut self, inbox: &mut Inbox) {
        self.set_clock();
        let history = self.core.last_history().map(|last| run::history::finish(last, &self.io));
        if self.core.configuration().removes_on_exit() {
            self.remove_all().await;
        } else {
            log::info!("shutting down; leaving nftables rules in place");
        }
        if let Some(text) = self.core.ips().unsaved_alerts() {
            run::ips::save_alerts(&text, &self.io);
        }
        self.send_last_records(inbox).await;
        if let Some(history) = history {
            let _ = timeout(HISTORY_TIMEOUT, history).await;
        }
    }

    /// Removes table, queues and programs before procd's deadline, most important first.
    async fn remove_all(&self) {
        // An nft process may still be loading the table.
        let _guard = timeout(LOCK_TIMEOUT, self.io.table_lock.lock()).await;
        match timeout(REMOVE_TIMEOUT, ruleset::remove(&self.io.nft)).await {
            Ok(Ok(())) => log::info!("shutting down; table inet fastpath is removed"),
            Ok(Err(error)) => log::error!("removing table inet fastpath: {}", chain(&error)),
            Err(_) => log::error!("removing table inet fastpath: nft did not end in time"),
        }
        run::latency::remove();
        run::offload::detach_all(DETACH_TIMEOUT).await;
    }
}
