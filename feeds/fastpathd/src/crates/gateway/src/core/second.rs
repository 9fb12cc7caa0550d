// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the periodic work of all subsystems.

use crate::core::Core;
use crate::cpu;
use crate::effect::Effect;
use crate::rules;
use crate::sys::kernel::Readings;

impl Core {
    /// Called once a second.
    pub fn second(&mut self, readings: &Readings) -> Vec<Effect> {
        self.sys.read(readings, self.now.mono);
        self.network.name_hosts(&readings.leases, &readings.hosts);
        let mut effects = self.mtu6_second(&readings.mtu6);
        effects.extend(self.ebpf_second());
        effects.extend(self.conntrack_second());
        let grown = self.conntrack.flows_mut().take_host_growth();
        self.devices.second(grown, self.network.view(), self.now);
        effects.extend(self.pause_second(readings));
        effects.extend(self.devices.identity_second().into_iter().map(Effect::from));
        effects.extend(self.network.second().map(Effect::from));
        effects.extend(self.roaming_second());
        effects.extend(self.network.routes_second().map(Effect::from));
        effects.extend(self.flows_strayed());
        effects.extend(self.flowtable_second());
        effects.extend(self.latency_second());
        effects.extend(self.cpu_second());
        effects.extend(self.rules_second(readings.offset_s));
        effects.extend(self.ips_second());
        effects.extend(self.doctor_second(readings.doctor));
        effects.extend(self.export_second());
        effects.extend(self.history_second());
        effects
    }

    fn cpu_second(&mut self) -> Option<Effect> {
        let due = self.cpu.second(self.now.mono);
        due.then(|| cpu::State::reading(self.network.topology()).into())
    }

    fn rules_second(&mut self, offset_s: i64) -> Option<Effect> {
        self.rules.local_time(offset_s, self.now.unix_ms);
        let request = self.rules.tick(&self.sys.machine().own_rules, self.now.unix_ms);
        request.map(rules::Effect::Update).map(Effect::from)
    }
}
