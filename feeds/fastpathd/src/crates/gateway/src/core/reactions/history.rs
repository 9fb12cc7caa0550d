// SPDX-License-Identifier: GPL-2.0-or-later
//! Samples the other subsystems for the history.

use std::net::IpAddr;

use ips::State as Inspection;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::history::{Effect, Event, Hit, Probe, Sample, WanSample, Write};

impl Core {
    pub(crate) fn history_event(&mut self, event: Event) -> Vec<AnyEffect> {
        self.history.event(event, self.now);
        Vec::new()
    }

    pub(crate) fn history_second(&mut self) -> Vec<AnyEffect> {
        let hits = self.hits();
        let paths = self.conntrack.flows().totals().paths;
        let of = [paths.slow, paths.inspect, paths.flowtable, paths.hardware, paths.ebpf];
        let wans = self.network.wans(self.sys.rates(), self.now).into_iter().map(|wan| {
            let bytes = self.sys.rates().bytes(&wan.port).map(|(received, sent)| [sent, received]);
            let server = wan.server.filter(|_| wan.up && !self.network.dials(&wan.name));
            let (name, device) = (wan.name.clone(), wan.device);
            let probe = server.map(|server| Probe { wan: name, device, server });
            WanSample { name: wan.name, up: wan.up, bytes, probe }
        });
        let events = self.ips.events();
        let mut alerts = [events.counts.not_read_alerts, events.counts.not_read_blocked];
        for (_, numbers) in events.severities.counted() {
            (0..2).for_each(|at| alerts[at] += numbers[at]);
        }
        let sample = Sample {
            devices: self.devices.grown(),
            paths: of.map(|path| path.bytes),
            alerts,
            wans: wans.collect(),
            engine: self.offload.flowtable().active().name(),
            inspection: match self.ips.inspection().condition().state {
                Inspection::Starting => "",
                Inspection::InlineDegraded => Inspection::Inline.name(),
                state @ (Inspection::Off
                | Inspection::Inline
                | Inspection::FailingOpen
                | Inspection::FailingClosed
                | Inspection::RulesRejected
                | Inspection::Watching) => state.name(),
            },
            digest: self.configuration.digest(),
            hits: &hits,
            quotas: self.devices.quotas(),
            day_of: &|unix_ms| self.devices.local_day(unix_ms),
            zone: self.devices.zone(),
        };
        let probes = self.history.probes(&sample, self.now);
        let write = self.history.second(&sample, self.now);
        let write = write.map(|write| Effect::Write(Box::new(write)));
        probes.into_iter().chain(write).map(AnyEffect::from).collect()
    }

    /// Returns the alerts since the last call. Alerts of an earlier process are not included.
    fn hits(&mut self) -> Vec<Hit> {
        let alerts = &self.ips.events().alerts;
        let Some(since) = self.history.new_alerts(alerts.last()) else { return Vec::new() };
        let network = self.network.view();
        let owner = |address: Option<IpAddr>| self.devices.owner(address?, network);
        let new = alerts.newest_first().take_while(|(id, _)| *id > since);
        let hit = |(_, alert): (u64, &ips::Alert)| Hit {
            sid: alert.sid,
            mac: owner(alert.src).or_else(|| owner(alert.dst)),
            signature: alert.signature.clone(),
        };
        new.map(hit).collect()
    }

    /// Returns the last write of this daemon.
    pub fn last_history(&mut self) -> Option<Write> {
        self.history.finish(self.now)
    }
}
