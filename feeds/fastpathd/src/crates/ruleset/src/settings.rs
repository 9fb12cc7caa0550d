// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `fastpath` of `/etc/config/fastpath`: options, defaults and ranges. Crate `model` reads
//! sections `exclude` (`exclude.rs`), and `policy.rs` sections `policy`.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use config::{
    Fault, Package, Problem, Section, SettingsError, is_device_name, number, number_in, switch,
};
use model::{Engine, Exclude};
use serde_json::Value;

use crate::marks::Marks;
use crate::policy::Policy;

/// Treatment of the table when the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnExit {
    /// Keep the table: the kernel continues to offload.
    #[default]
    Keep,
    Remove,
}

/// Kinds of layer 3 devices that keep flows on the slow path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LeftOut {
    /// VLAN devices, on a bridge or on a port.
    pub vlan: bool,
    /// PPP devices, for `PPPoE` sessions.
    pub pppoe: bool,
}

/// The checked sections `fastpath`, `exclude` and `policy` of `/etc/config/fastpath`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name of the section `fastpath` in errors.
    pub section: String,
    /// False means engine [`Engine::Off`], whatever `engine` is.
    pub enabled: bool,
    pub engine: Engine,
    /// Attach point of eBPF programs; `None` for the best one that the devices support.
    pub hook: Option<&'static str>,
    /// Treatment of the table on SIGTERM.
    pub on_exit: OnExit,
    /// Packet mark bits that we use.
    pub mark_mask: u32,
    /// Minimum interval between counter refreshes.
    pub refresh: Duration,
    /// The only lowest devices to use; empty for automatic selection.
    pub devices: BTreeSet<String>,
    /// Devices that are never used.
    pub ignore_devices: BTreeSet<String>,
    /// Options `vlan` and `pppoe`, negated.
    pub left_out: LeftOut,
    /// First packets of every flow, both directions together, that stay slow; 0 means none.
    pub slow_packets: u32,
    /// Number of busiest hosts with separate metrics; all others share one series.
    pub metrics_hosts: u32,
    /// Exclusions that keep flows on the slow path.
    pub excludes: Vec<Exclude>,
    /// Inspection policies; the first match applies.
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
            left_out: LeftOut::default(),
            slow_packets: 0,
            metrics_hosts: 20,
            excludes: Vec::new(),
            policies: Vec::new(),
        }
    }
}

impl Settings {
    /// Checks the `values` of `ubus call uci get {"config":"fastpath"}` or of
    /// [`config::parse_uci`]. Also returns warnings about ignored options.
    ///
    /// # Errors
    /// Fails if a value cannot be used.
    pub fn from_uci(values: &Value) -> Result<(Self, Vec<Problem>), SettingsError> {
        let mut package = Package::new(values)?;
        let settings = Self::read(&mut package);
        Ok((settings, package.finish()?))
    }

    /// Reads our sections from the package, which collects the problems.
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
        self.devices = device_list(section, "device");
        self.ignore_devices = device_list(section, "ignore_device");
        let mut off = |option| section.value(option, switch) == Some(false);
        self.left_out = LeftOut { vlan: off("vlan"), pppoe: off("pppoe") };
    }

    /// Returns our mark bits for inspection.
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

    /// Returns the configured engine, or off if it is disabled.
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

/// Hooks as named by `fastpath-bpf`. Native XDP is chosen only automatically, if all devices can
/// send redirected packets: otherwise packets would be lost.
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
