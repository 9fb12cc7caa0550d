// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `network.wireless`: radios and SSIDs in the format of netifd's wireless handlers
//! (`wireless-device.uc` of wifi-scripts), including keys; and hostapd's objects.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::{Answer, text};
use crate::uci::{self, Package, Section, Store};

pub const METHODS: &[Method] = &[Method {
    name: "status",
    policy: &[("device", PolicyType::String), ("ubus_rpc_session", PolicyType::String)],
}];

/// Methods of `hostapd.DEVICE`.
pub const POINT_METHODS: &[Method] = &[Method { name: "get_clients", policy: &[] }];
pub const POINT_PATH: &str = "hostapd.";

/// Options that netifd reports as booleans or lists; the rest are strings.
const SWITCHES: &[&str] = &["disabled", "hidden", "isolate", "wds", "bridge_isolate"];
const LISTS: &[&str] = &["network", "network_vlan", "radio_macaddr", "maclist"];

/// State of a radio, from its state file: `up`, `pending`, `failed`, or `ap PLACE DEVICE`. PLACE is
/// the index of the section among those of its type: the lab's scripts name anonymous sections
/// differently.
#[derive(Debug, Default, PartialEq, Eq)]
struct RadioState {
    up: bool,
    pending: bool,
    failed: bool,
    /// Section indices and their devices.
    points: Vec<(usize, String)>,
}

impl RadioState {
    fn read(text: &str) -> RadioState {
        let mut made = RadioState::default();
        for line in text.lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["up"] => made.up = true,
                ["pending"] => made.pending = true,
                ["failed"] => made.failed = true,
                ["ap", place, device] if place.parse::<usize>().is_ok() => {
                    made.points.extend(place.parse().ok().map(|place| (place, device.into())));
                }
                _ => log::warn!("a radio's state has the line '{line}'"),
            }
        }
        made
    }
}

/// Answers a call. `state` is the folder with a state file for each radio.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(store: &Store, state: &Path, (method, args): (&str, &Map)) -> Answer {
    if method != "status" {
        return Err(Status::MethodNotFound);
    }
    let nobody = PathBuf::from("/dev/null");
    // Without the file, there are no radios.
    let config = store.load("wireless", &nobody).unwrap_or_default();
    let known =
        |section: &&Section| section.kind == "wifi-device" && word(section, "type").is_some();
    let wanted = text(args, "device");
    let mut radios = Map::new();
    for radio in config.sections.iter().filter(known) {
        if wanted.is_some_and(|name| name != radio.name) {
            continue;
        }
        let file = std::fs::read_to_string(state.join(&radio.name)).unwrap_or_default();
        radios.insert(radio.name.clone(), describe(&config, radio, &RadioState::read(&file)));
    }
    match wanted {
        Some(_) if radios.is_empty() => Err(Status::NotFound),
        _ => Ok(radios),
    }
}

/// Returns the devices of all access points.
#[must_use]
pub fn points(state: &Path) -> Vec<String> {
    let files = std::fs::read_dir(state).into_iter().flatten().flatten();
    let radios = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    radios.flat_map(|text| RadioState::read(&text).points).map(|(_, device)| device).collect()
}

/// Answers a call of `hostapd.DEVICE` with the file `clients/DEVICE` beside the state files;
/// without it, there are no stations.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer_point(state: &Path, device: &str, method: &str) -> Answer {
    if method != "get_clients" {
        return Err(Status::MethodNotFound);
    }
    if !points(state).iter().any(|point| point == device) {
        return Err(Status::NotFound);
    }
    let file = std::fs::read_to_string(state.join("clients").join(device));
    let none =
        || Map::from_iter([("freq".to_owned(), json!(2437)), ("clients".to_owned(), json!({}))]);
    match file {
        Ok(text) => serde_json::from_str(&text).map_err(|_| Status::UnknownError),
        Err(_) => Ok(none()),
    }
}

fn word<'a>(section: &'a Section, option: &str) -> Option<&'a str> {
    section.option(option).and_then(uci::Value::text)
}

fn is_on(section: &Section, option: &str) -> bool {
    matches!(word(section, option), Some("1" | "true" | "on" | "yes" | "enabled"))
}

fn describe(config: &Package, radio: &Section, made: &RadioState) -> Value {
    let disabled = is_on(radio, "disabled");
    let points = config.sections.iter().filter(|section| section.kind == "wifi-iface");
    // Like wifi-scripts, omit disabled SSIDs and all SSIDs of disabled radios.
    let shown = |(_, point): &(usize, &Section)| {
        let devices = point.option("device").map(uci::Value::words).unwrap_or_default();
        devices.contains(&&*radio.name) && !disabled && !is_on(point, "disabled")
    };
    let points = points.enumerate().filter(shown);
    let interfaces: Vec<Value> = points.map(|(place, of)| interface(place, of, made)).collect();
    json!({
        "up": made.up,
        "pending": made.pending,
        "autostart": true,
        "disabled": disabled,
        "retry_setup_failed": made.failed,
        "config": values(radio),
        "interfaces": interfaces,
    })
}

fn interface(place: usize, point: &Section, made: &RadioState) -> Value {
    let mut config = values(point);
    config.insert("radios".to_owned(), json!([]));
    let mut map = json!({
        "section": point.name,
        "config": config,
        "vlans": [],
        "stations": [],
    });
    let device = made.points.iter().find(|(known, _)| *known == place);
    if let Some((_, device)) = device {
        map["ifname"] = json!(device);
    }
    map
}

fn values(section: &Section) -> Map {
    let value = |(name, of): &(String, uci::Value)| {
        let value = if SWITCHES.contains(&&**name) {
            json!(is_on(section, name))
        } else if LISTS.contains(&&**name) {
            json!(of.words())
        } else {
            of.text().map_or_else(|| json!(of.list()), |text| json!(text))
        };
        (name.clone(), value)
    };
    section.options.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
config wifi-device 'radio0'
	option type 'mac80211'
	option band '5g'
	option channel '36'

config wifi-iface 'home'
	option device 'radio0'
	option mode 'ap'
	option ssid 'Home'
	option key 'secret'
	option network 'lan dmz'

config wifi-iface 'off'
	option device 'radio0'
	option disabled '1'

config wifi-device 'radio1'
	option type 'mac80211'
	option disabled '1'

config wifi-device 'unknown'
	option band '2g'
";

    fn asked(folder: &Path, args: Value) -> Answer {
        let store = Store {
            config: folder.join("config"),
            run: folder.join("run"),
            staged: folder.join("staged"),
        };
        let Value::Object(args) = args else { unreachable!() };
        answer(&store, &folder.join("state"), ("status", &args))
    }

    #[test]
    fn radios_are_reported_as_by_netifd() {
        let folder = std::env::temp_dir().join(format!("standin-radios-{}", std::process::id()));
        for name in ["config", "run", "state"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        assert_eq!(asked(&folder, json!({})), Ok(Map::new()));
        std::fs::write(folder.join("config/wireless"), CONFIG).unwrap();
        std::fs::write(folder.join("state/radio0"), "up\nap 0 phy0-ap0\n").unwrap();
        let home = json!({"section": "home", "ifname": "phy0-ap0", "vlans": [], "stations": [],
            "config": {"device": "radio0", "mode": "ap", "ssid": "Home", "key": "secret",
                "network": ["lan", "dmz"], "radios": []}});
        let radio0 = json!({"up": true, "pending": false, "autostart": true, "disabled": false,
            "retry_setup_failed": false,
            "config": {"type": "mac80211", "band": "5g", "channel": "36"}, "interfaces": [home]});
        let radio1 = json!({"up": false, "pending": false, "autostart": true, "disabled": true,
            "retry_setup_failed": false, "config": {"type": "mac80211", "disabled": true},
            "interfaces": []});
        let all = asked(&folder, json!({})).map(Value::Object);
        assert_eq!(all, Ok(json!({"radio0": radio0, "radio1": radio1})));
        let one = asked(&folder, json!({"device": "radio1"})).map(Value::Object);
        assert_eq!(one, Ok(json!({"radio1": radio1})));
        let none = asked(&folder, json!({"device": "radio7"}));
        assert_eq!(none, Err(Status::NotFound));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
