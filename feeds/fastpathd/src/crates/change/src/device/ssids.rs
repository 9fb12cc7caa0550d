// SPDX-License-Identifier: GPL-2.0-or-later
//! Switches SSIDs off and on for schedules with option `disabled` of `/etc/config/wireless`: netifd
//! and hostapd have no other way to end one SSID of a radio without interrupting the others.

use std::process::ExitCode;

use ::uci::{Package, ParseError, Section, Setting, parse};
use plugin::{Bus, Call, Map, Refusal, map};
use serde_json::json;

use super::sections::{Lines, Values, set};
use crate::api::{invalid, missing};
use crate::caller::Caller;
use crate::log;
use crate::transaction::Changes;
use crate::uci::Broken;

const CONFIG: &str = "wireless";
/// Option of SSIDs that are disabled for a schedule and not by the owner.
const MARK: &str = "fastpath_off";

/// `ssids {off}`: switches these SSIDs off, and those on that an earlier call has switched off.
pub(super) async fn switch(call: &Call) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    caller.may_write(&call.bus, &[CONFIG]).await?;
    let mut off = Vec::new();
    for ssid in call.list("off")?.ok_or_else(|| missing("off"))? {
        off.push(ssid.as_str().ok_or_else(|| invalid("off", ssid))?);
    }
    let changes = Changes::open(&call.bus)?;
    let schedules = schedules(&changes)?;
    let is_off = |ssid: &str| off.contains(&ssid) && is_named(&schedules, ssid);
    let is_written = write(&changes, &is_off).await?;
    Ok(map([("changed", json!(is_written))]))
}

/// `fastpath-rpcd free [all]`: switches SSIDs on that no schedule names any more, or all.
#[must_use]
pub fn free(args: &[String]) -> ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let bus = Bus::from_environment();
    let all = args.first().is_some_and(|word| word == "all");
    let freed = tokio::task::LocalSet::new().block_on(&runtime, async {
        let changes = Changes::open(&bus)?;
        let schedules = schedules(&changes)?;
        write(&changes, &|ssid| !all && is_named(&schedules, ssid)).await
    });
    if freed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns `/etc/config/fastpath`; empty if it is broken.
fn schedules(changes: &Changes<'_>) -> Result<Package, Refusal> {
    Ok(parse(&changes.store.config("fastpath")?.unwrap_or_default()).unwrap_or_default())
}

fn is_named(schedules: &Package, ssid: &str) -> bool {
    let names = |schedule: &Section| {
        let ssids = schedule.options.get("ssid").map(Setting::texts).unwrap_or_default();
        schedule.is_on("enabled", true) && ssids.iter().any(|of| of == ssid)
    };
    schedules.of("schedule").any(names)
}

/// Returns whether the file has changed.
async fn write(changes: &Changes<'_>, is_off: &dyn Fn(&str) -> bool) -> Result<bool, Refusal> {
    let text = changes.store.config(CONFIG)?.unwrap_or_default();
    let edited = edited(&text, is_off).map_err(|error| Broken::at(CONFIG, error).refusal())?;
    let Some(text) = &edited else { return Ok(false) };
    changes.refuse_if_pending_on(CONFIG).await?;
    changes.store.set_config(CONFIG, text)?;
    changes.notify(CONFIG).await;
    log::say("SSIDs switched by schedules");
    Ok(true)
}

fn edited(old: &[u8], is_off: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u8>>, ParseError> {
    let before = parse(old)?;
    let mut package = before.clone();
    let mut lines = Lines::of(old);
    for (index, section) in package.sections.iter_mut().enumerate().rev() {
        if section.kind != "wifi-iface" || section.text("mode").unwrap_or("ap") != "ap" {
            continue;
        }
        let off = section.text("ssid").is_some_and(is_off);
        let value = match (off, section.options.contains_key(MARK)) {
            (true, _) if !section.is_on("disabled", false) => Some("1".to_owned()),
            (false, true) => None,
            _ => continue,
        };
        let values = Values::from([("disabled", value.clone()), (MARK, value)]);
        set(&mut section.options, &values);
        lines.edit(index, Some(&values));
    }
    Ok((package != before).then(|| lines.text(&package)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "config wifi-iface 'home'
\toption ssid 'Home'

# for visitors
config wifi-iface
\toption ssid 'My guests'
\toption disabled '0'
\toption key 'a secret'

config wifi-iface 'old'
\toption ssid 'My guests'
\toption disabled '1'

config wifi-iface 'uplink'
\toption mode 'sta'
\toption ssid 'My guests'
";

    fn switched(text: &str, off: &[&str]) -> Option<String> {
        let new = edited(text.as_bytes(), &|ssid| off.contains(&ssid)).unwrap();
        new.map(|new| String::from_utf8(new).unwrap())
    }

    #[test]
    fn switches_access_points_with_the_name_off_and_on() {
        assert_eq!(switched(BEFORE, &[]), None);
        assert_eq!(switched(BEFORE, &["Other"]), None);
        let off = switched(BEFORE, &["My guests"]).unwrap();
        let marked = "\toption disabled '1'\n\toption key 'a secret'\n\toption fastpath_off '1'\n";
        assert_eq!(off, BEFORE.replace("\toption disabled '0'\n\toption key 'a secret'\n", marked));
        assert_eq!(switched(&off, &["My guests"]), None);
        let on = switched(&off, &[]).unwrap();
        assert_eq!(on, BEFORE.replace("\toption disabled '0'\n", ""));
        // The owner switched the SSID on meanwhile.
        let owner = off.replacen("\toption disabled '1'\n", "", 1);
        assert_eq!(switched(&owner, &["My guests"]).unwrap().matches("fastpath_off").count(), 1);
        assert_eq!(switched(&owner, &[]).unwrap(), on);
    }

    #[test]
    fn a_broken_file_is_not_changed() {
        assert!(edited(b"config 'wifi", &|_| true).is_err());
    }
}
