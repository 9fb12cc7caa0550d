// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `fastpath` of `/etc/config/fastpath`: options, defaults and ranges.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use config::{
    Fault, Package, Problem, Section, SettingsError, is_device_name, number, number_in, switch,
};
use model::{Engine, Exclude, TrafficType, TrafficTypes};
use serde_json::Value;

use crate::marks::Marks;
use crate::policy::Policy;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnExit {
    /// The kernel continues to offload.
    #[default]
    Keep,
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name of section `fastpath` in errors.
    pub section: String,
    /// If false, the engine is [`Engine::Off`] regardless of `engine`.
    pub enabled: bool,
    pub engine: Engine,
    /// Attach point of eBPF programs; `None` selects the best that all devices support.
    pub hook: Option<&'static str>,
    pub on_exit: OnExit,
    /// Bits of packet and connection marks reserved for fastpath.
    pub mark_mask: u32,
    pub refresh: Duration,
    /// Allowed lowest devices; empty allows all.
    pub devices: BTreeSet<String>,
    pub ignore_devices: BTreeSet<String>,
    /// Traffic types whose switch is off.
    pub left_out: TrafficTypes,
    /// Number of first packets of every flow, in both directions together, that stay slow.
    pub slow_packets: u32,
    /// Number of busiest hosts with their own metrics; all others share one series.
    pub metrics_hosts: u32,
    /// Metrics of each device.
    pub device_metrics: bool,
    /// Interval between writes of the history; `None` writes none.
    pub history: Option<Duration>,
    /// Measure latency and loss of the WANs for the history.
    pub history_probes: bool,
    pub excludes: Vec<Exclude>,
    /// The first match applies.
    pub policies: Vec<Policy>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            section: "main".to_owned(),
            enabled: true,
            engine: Engine::default(),
            hook: None,
            on_exit: OnExit::default(),
            mark_mask: 0x7800_0000,
            refresh: Duration::from_secs(1),
            devices: BTreeSet::new(),
            ignore_devices: BTreeSet::new(),
            left_out: TrafficTypes::default(),
            slow_packets: 0,
            metrics_hosts: 20,
            device_metrics: false,
            history: Some(Duration::from_secs(600)),
            history_probes: true,
            excludes: Vec::new(),
            policies: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads the `values` of `ubus call uci get {"config":"fastpath"}` or of [`config::parse_uci`].
    /// Also returns warnings about ignored options.
    pub fn from_uci(values: &Value) -> Result<(Self, Vec<Problem>), SettingsError> {
        let mut package = Package::new(values)?;
        let settings = Self::read(&mut package);
        Ok((settings, package.finish()?))
    }

    /// Reads the sections from a package, which collects the problems.
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        if let Some(mut section) = package.take_one("fastpath") {
            settings.read_main(&mut section);
            package.close(section);
        }
        for mut section in package.take("exclude") {
            settings.excludes.extend(Exclude::read(&mut section));
            package.close(section);
        }
        for mut section in package.take("policy") {
            settings.policies.extend(Policy::read(&mut section));
            package.close(section);
        }
        settings
    }

    fn read_main(&mut self, section: &mut Section<'_>) {
        section.label().clone_into(&mut self.section);
        if let Some(enabled) = section.value("enabled", switch) {
            self.enabled = enabled;
        }
        if let Some(engine) = section.value("engine", Engine::from_str) {
            self.engine = engine;
        }
        if let Some(hook) = section.value("hook", hook) {
            self.hook = hook;
        }
        if let Some(on_exit) = section.value("on_exit", on_exit) {
            self.on_exit = on_exit;
        }
        if let Some(mask) = section.value("mark_mask", mask) {
            self.mark_mask = mask;
        }
        if self.engine == Engine::Ebpf
            && let Err(problem) = self.passed()
        {
            section.error("mark_mask", &problem.value, *problem.fault);
        }
        if let Some(seconds) = section.value("refresh", number_in(1..=3600)) {
            self.refresh = Duration::from_secs(seconds.into());
        }
        if let Some(packets) = section.value("slow_packets", number_in(0..=1_000_000)) {
            self.slow_packets = packets;
        }
        if let Some(hosts) = section.value("metrics_hosts", number_in(0..=100)) {
            self.metrics_hosts = hosts;
        }
        self.device_metrics = section.value("device_metrics", switch) == Some(true);
        if let Some(seconds) = section.value("history_interval", number_in(1..=3600)) {
            self.history = Some(Duration::from_secs(seconds.into()));
        }
        if section.value("history", switch) == Some(false) {
            self.history = None;
        }
        self.history_probes = section.value("history_probes", switch) != Some(false);
        self.devices = device_list(section, "device");
        self.ignore_devices = device_list(section, "ignore_device");
        self.left_out = left_out(section);
    }

    /// Returns the mark bits for inspection.
    ///
    /// # Errors
    /// Fails if `mark_mask` has too few bits.
    pub fn marks(&self) -> Result<Marks, Problem> {
        Marks::within(self.mark_mask).ok_or_else(|| Problem {
            section: self.section.clone(),
            option: "mark_mask".to_owned(),
            value: format!("{:#010x}", self.mark_mask),
            fault: Box::new(Fault::MaskInspection),
        })
    }

    /// Returns the mark bits of connections that have passed the rules, by direction.
    ///
    /// # Errors
    /// Fails if `mark_mask` has too few bits for engine [`Engine::Ebpf`].
    pub fn passed(&self) -> Result<[u32; 2], Problem> {
        Marks::within(self.mark_mask).and_then(Marks::passed).ok_or_else(|| Problem {
            section: self.section.clone(),
            option: "mark_mask".to_owned(),
            value: format!("{:#010x}", self.mark_mask),
            fault: Box::new(Fault::MaskEbpf { bits: self.mark_mask.count_ones() }),
        })
    }

    #[must_use]
    pub fn wanted(&self) -> Engine {
        if self.enabled { self.engine } else { Engine::Off }
    }
}

fn device_list(section: &mut Section<'_>, option: &'static str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for name in section.list(option) {
        if is_device_name(name) {
            names.insert(name.to_owned());
        } else {
            section.error(option, name, Fault::DeviceName);
        }
    }
    names
}

fn left_out(section: &mut Section<'_>) -> TrafficTypes {
    use TrafficType::{Ipv4, Ipv6, Pppoe, Vlan};
    let is_off = |one: &TrafficType| section.value(one.name(), switch) == Some(false);
    let mut off: Vec<_> = [Ipv4, Ipv6, Vlan, Pppoe].into_iter().filter(is_off).collect();
    for word in section.list("slow_tunnel") {
        match tunnel(word) {
            Ok(kind) => off.push(kind),
            Err(fault) => section.error("slow_tunnel", word, fault),
        }
    }
    off.into_iter().collect()
}

fn tunnel(text: &str) -> Result<TrafficType, Fault> {
    let tunnels = TrafficType::TUNNELS;
    let found = tunnels.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| Fault::not_listed(&tunnels.map(TrafficType::name)))
}

/// Hook names of `fastpath-bpf`. Native XDP is only selected automatically, if all devices can send
/// redirected packets; otherwise packets would be lost.
const HOOKS: [&str; 3] = ["tcx", "clsact", "xdp-generic"];

fn hook(text: &str) -> Result<Option<&'static str>, Fault> {
    let hook = HOOKS.into_iter().find(|hook| *hook == text);
    if hook.is_none() && text != "auto" {
        return Err(Fault::not_listed(&[&["auto"], &HOOKS[..]].concat()));
    }
    Ok(hook)
}

fn on_exit(text: &str) -> Result<OnExit, Fault> {
    match text {
        "keep" => Ok(OnExit::Keep),
        "remove" => Ok(OnExit::Remove),
        _ => Err(Fault::not_listed(&["keep", "remove"])),
    }
}

fn mask(text: &str) -> Result<u32, Fault> {
    let mask = match text.strip_prefix("0x") {
        Some(hex) if !hex.is_empty() && hex.bytes().all(|c| c.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).map_err(|_| Fault::MaskWidth)
        }
        Some(_) => Err(Fault::NotNumber),
        None => number(text),
    }?;
    if mask == 0 { Err(Fault::MaskEmpty) } else { Ok(mask) }
}

#[cfg(test)]
mod tests;
