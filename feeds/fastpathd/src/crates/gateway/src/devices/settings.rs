// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections `device` and `schedule` of `/etc/config/fastpath`.

use std::collections::BTreeMap;

use config::sort::Collect;
use config::zone::Zone;
use config::{Fault, Package, Section, device, number, number_in, switch};
use model::Action;
use serde::Serialize;
use topology::Mac;

/// With devices that only schedules name.
const MAX_ALL_DEVICES: usize = 1024;
/// Schedules of a device are bits of a `u64`.
const MAX_SCHEDULES: usize = 64;
/// Maximum length of an SSID (IEEE 802.11), in bytes.
const MAX_SSID_LEN: usize = 32;
/// Longest time that is searched for the end of a pause; a pause beyond it has no end.
const MAX_PAUSE: i64 = 8 * 86_400;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) devices: BTreeMap<Mac, DeviceSettings>,
    /// Bits of the schedules that switch an SSID off, by its name.
    ssids: BTreeMap<String, u64>,
    schedules: Vec<Schedule>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeviceSettings {
    /// The device has a section of its own.
    pub(crate) known: bool,
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) group: String,
    /// Limits of packets to and from the device in kbit/s; 0: none.
    pub(crate) limits: [u32; 2],
    /// Action of inspection instead of that of the policies.
    pub(crate) inspect: Option<Action>,
    /// Bytes per local day in MB; 0: no quota.
    pub(crate) quota_mb: u32,
    paused: bool,
    /// Unix time in seconds; 0: none.
    paused_until: i64,
    /// Bits of the schedules that concern the device.
    schedules: u64,
}

impl DeviceSettings {
    /// Returns whether packets of the device need rules other than those of a pause.
    pub(crate) fn has_rules(&self) -> bool {
        self.limits != [0; 2] || self.inspect.is_some()
    }
}

/// A span of local time on some weekdays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Schedule {
    /// Bit 0 is Monday; the day on which a span begins.
    days: u8,
    /// Minutes of the day. A span with `to` not after `from` ends on the next day.
    from: i64,
    to: i64,
}

/// The clock, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Unix time in seconds.
    pub(crate) unix: i64,
    pub(crate) zone: Zone,
    /// The clock was set since the machine started.
    pub(crate) is_set: bool,
}

/// An SSID that a schedule switches off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SsidOff {
    pub(crate) ssid: String,
    /// 0 if unknown.
    pub(super) until_ms: u64,
}

/// Why a device is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Always,
    Until,
    Schedule,
    /// A schedule concerns the device, and the clock is not set.
    Clock,
}

impl Pause {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Until => "until",
            Self::Schedule => "schedule",
            Self::Clock => "clock",
        }
    }
}

impl Settings {
    pub(crate) fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        for (place, mut section) in package.take("device").into_iter().enumerate() {
            if place == device::MAX_SECTIONS {
                section.error("", "", Fault::TooManySections { most: device::MAX_SECTIONS });
            }
            if let Some((mac, device)) = read_device(&mut section)
                && settings.devices.insert(mac, device).is_some()
            {
                section.error("mac", &mac.to_string(), Fault::Duplicate);
            }
            package.close(section);
        }
        for (place, mut section) in package.take("schedule").into_iter().enumerate() {
            if place == MAX_SCHEDULES {
                section.error("", "", Fault::TooManySections { most: MAX_SCHEDULES });
            }
            settings.read_schedule(&mut section);
            package.close(section);
        }
        settings
    }

    fn read_schedule(&mut self, section: &mut Section<'_>) {
        let enabled = section.value("enabled", switch).unwrap_or(true);
        // The daemon does not use the name.
        section.value("name", |text| words(text, device::MAX_NAME));
        let (mut macs, mut groups) = (Vec::new(), Vec::new());
        for text in section.list("device") {
            match mac(text) {
                Ok(mac) => macs.push(mac),
                Err(fault) => section.error("device", text, fault),
            }
        }
        for text in section.list("group") {
            match words(text, device::MAX_GROUP) {
                Ok(group) => groups.push(group),
                Err(fault) => section.error("group", text, fault),
            }
        }
        let ssids = section.list("ssid");
        let is_ssid = |text: &&str| (1..=MAX_SSID_LEN).contains(&text.len());
        if let Some(bad) = ssids.iter().find(|text| !is_ssid(text)) {
            section.error("ssid", bad, Fault::TooManyCharacters { longest: MAX_SSID_LEN });
        }
        let mut days = 0;
        for text in section.list("day") {
            match DAYS.iter().position(|day| *day == text) {
                Some(day) => days |= 1 << day,
                None => section.error("day", text, Fault::not_listed(&DAYS)),
            }
        }
        let [from, to] = ["from", "to"].map(|option| {
            if section.text(option).is_none() {
                section.error(option, "", Fault::Missing);
            }
            section.value(option, minute)
        });
        let (Some(from), Some(to), true) = (from, to, enabled && section.is_good()) else { return };
        let bit = 1_u64.checked_shl(u32::try_from(self.schedules.len()).unwrap_or(u32::MAX));
        let bit = bit.unwrap_or_default();
        for (mac, device) in &mut self.devices {
            if macs.contains(mac) || groups.contains(&device.group) {
                device.schedules |= bit;
            }
        }
        for ssid in ssids {
            *self.ssids.entry(ssid.to_owned()).or_default() |= bit;
        }
        for mac in macs {
            if self.devices.len() >= MAX_ALL_DEVICES && !self.devices.contains_key(&mac) {
                let fault = Fault::TooManySections { most: MAX_ALL_DEVICES };
                return section.error("device", &mac.to_string(), fault);
            }
            self.devices.entry(mac).or_default().schedules |= bit;
        }
        let days = if days == 0 { 0x7f } else { days };
        self.schedules.push(Schedule { days, from, to });
    }

    /// Returns the paused devices.
    pub(crate) fn paused(&self, clock: &Clock) -> BTreeMap<Mac, Pause> {
        let active = self.active(clock.unix, &clock.zone);
        let pause = |device: &DeviceSettings| {
            if device.paused {
                Some(Pause::Always)
            } else if device.paused_until > clock.unix {
                Some(Pause::Until)
            } else if !clock.is_set && device.schedules != 0 {
                Some(Pause::Clock)
            } else {
                (device.schedules & active != 0).then_some(Pause::Schedule)
            }
        };
        self.devices.iter().filter_map(|(mac, of)| Some((*mac, pause(of)?))).into_map()
    }

    /// Returns when the pause of a device ends, in Unix seconds. `None` if that is unknown, or if
    /// the pause lasts until it is resumed.
    pub(crate) fn end(&self, mac: Mac, clock: &Clock) -> Option<i64> {
        let device = self.devices.get(&mac)?;
        if device.paused {
            return None;
        }
        self.end_of(device.schedules, device.paused_until, clock)
    }

    pub(super) fn schedules_ssids(&self) -> bool {
        !self.ssids.is_empty()
    }

    /// Returns the SSIDs that schedules switch off now. The clock is set.
    pub(crate) fn ssids_off(&self, clock: &Clock) -> Vec<SsidOff> {
        let active = self.active(clock.unix, &clock.zone);
        let off = self.ssids.iter().filter(|(_, schedules)| *schedules & active != 0);
        let off = off.map(|(ssid, schedules)| SsidOff {
            ssid: ssid.clone(),
            until_ms: self
                .end_of(*schedules, 0, clock)
                .and_then(|end| u64::try_from(end).ok())
                .map_or(0, |end| end * 1000),
        });
        off.collect()
    }

    fn end_of(&self, schedules: u64, paused_until: i64, clock: &Clock) -> Option<i64> {
        if !clock.is_set && schedules != 0 {
            return None;
        }
        let mut end = clock.unix;
        let last = end.max(paused_until) + MAX_PAUSE;
        while end < last {
            if paused_until > end {
                end = paused_until;
            } else if self.active(end, &clock.zone) & schedules == 0 {
                return Some(end);
            } else {
                let (day, second) = local(end, &clock.zone);
                let of = (0..).zip(&self.schedules);
                let of = of.filter(|(bit, _)| schedules >> bit & 1 != 0);
                let left = of.filter_map(|(_, schedule)| schedule.left(day, second)).max()?;
                let change = clock.zone.next_change(end).unwrap_or(i64::MAX);
                end = change.min(end + left);
            }
        }
        None
    }

    /// Returns the bits of the schedules whose span contains this time.
    fn active(&self, unix: i64, zone: &Zone) -> u64 {
        let (day, second) = local(unix, zone);
        let active = |(bit, schedule): (u32, &Schedule)| {
            u64::from(schedule.left(day, second).is_some()) << bit
        };
        (0..).zip(&self.schedules).map(active).fold(0, |all, bit| all | bit)
    }
}

impl Schedule {
    /// Returns the seconds to the end of the span that contains this local time.
    fn left(&self, day: i64, second: i64) -> Option<i64> {
        const DAY: i64 = 86_400;
        let (from, to) = (self.from * 60, self.to * 60);
        let to = if to > from { to } else { to + DAY };
        let begins = |day: i64| self.days >> day.rem_euclid(7) & 1 != 0;
        let of = |day, second| (begins(day) && (from..to).contains(&second)).then(|| to - second);
        of(day, second).or_else(|| of(day - 1, second + DAY))
    }
}

/// Returns the weekday (0 is Monday) and the second of the day.
fn local(unix: i64, zone: &Zone) -> (i64, i64) {
    const DAY: i64 = 86_400;
    let local = unix + zone.offset(unix);
    // 1970-01-01 was a Thursday.
    ((local.div_euclid(DAY) + 3).rem_euclid(7), local.rem_euclid(DAY))
}

fn read_device(section: &mut Section<'_>) -> Option<(Mac, DeviceSettings)> {
    if section.text("mac").is_none() {
        section.error("mac", "", Fault::Missing);
    }
    let mac = section.value("mac", mac);
    let until = section.value("paused_until", number).unwrap_or_default();
    let device = DeviceSettings {
        known: true,
        name: section.value("name", |text| words(text, device::MAX_NAME)).unwrap_or_default(),
        kind: section.value("kind", kind).unwrap_or_default(),
        group: section.value("group", |text| words(text, device::MAX_GROUP)).unwrap_or_default(),
        quota_mb: section
            .value("quota_mb", number_in(1..=device::MAX_QUOTA_MB))
            .unwrap_or_default(),
        paused: section.value("paused", switch).unwrap_or_default(),
        paused_until: until.into(),
        limits: ["limit_down", "limit_up"]
            .map(|option| section.value(option, number_in(device::LIMITS)).unwrap_or_default()),
        inspect: section.value("inspect", inspect),
        schedules: 0,
    };
    Some((mac?, device))
}

fn mac(text: &str) -> Result<Mac, Fault> {
    text.parse().ok().filter(|mac| super::is_station(*mac)).ok_or(Fault::NotMac)
}

fn kind(text: &str) -> Result<&'static str, Fault> {
    let kind = device::KINDS.into_iter().find(|kind| *kind == text);
    kind.ok_or_else(|| Fault::not_listed(&device::KINDS))
}

fn inspect(text: &str) -> Result<Action, Fault> {
    let found = [Action::Always, Action::None].into_iter().find(|of| inspect_name(*of) == text);
    found.ok_or_else(|| Fault::not_listed(&device::INSPECT))
}

/// Returns the value of the option `inspect`.
pub(crate) fn inspect_name(action: Action) -> &'static str {
    let [always, never] = device::INSPECT;
    if action == Action::Always { always } else { never }
}

fn words(text: &str, longest: usize) -> Result<String, Fault> {
    if text.chars().count() > longest {
        return Err(Fault::TooManyCharacters { longest });
    }
    match text.chars().find(|c| c.is_control()) {
        Some(bad) => Err(Fault::NameCharacter { character: format!("{bad:?}") }),
        None => Ok(text.to_owned()),
    }
}

/// Parses `hh:mm` to minutes of the day.
fn minute(text: &str) -> Result<i64, Fault> {
    let part = |text: &str, limit: u32| {
        let number = if text.len() == 2 { number(text).ok() } else { None };
        number.filter(|number| *number < limit)
    };
    let both = text
        .split_once(':')
        .and_then(|(hour, minute)| Some(part(hour, 24)? * 60 + part(minute, 60)?));
    both.map(i64::from).ok_or(Fault::NotTime)
}

#[cfg(test)]
mod tests;
