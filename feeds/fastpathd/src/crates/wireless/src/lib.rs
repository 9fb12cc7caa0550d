// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.wireless`: state of radios and SSIDs without their secrets, and their
//! stations.
//!
//! netifd's `network.wireless status` contains keys and RADIUS passwords, so viewers must not call
//! it. This object copies only known fields, so that options of later netifd versions are not
//! exposed. Stations are those of `hostapd.DEVICE get_clients`, which OpenWrt adds to hostapd
//! (`src/ap/ubus.c`).

pub mod board;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod measured;

use plugin::{Bus, Call, Map, Object, Refusal, map, method};
use serde_json::{Value, json};
use ubus::Status;

use measured::Measured;

/// Stations reported per SSID. hostapd accepts up to 2007.
const STATIONS: usize = 512;

/// State of access points from other sources than netifd.
#[derive(Debug, Default)]
struct Facts {
    /// Answers of hostapd by device; none for devices without hostapd.
    clients: Vec<(String, Map)>,
    measured: Vec<Measured>,
    board: Value,
    features: Vec<&'static str>,
}

pub static OBJECT: Object =
    Object { name: "fastpath.wireless", methods: &[method!("status", status)] };

async fn status(call: &Call) -> Result<Map, Refusal> {
    let said = match call.bus.call("network.wireless", "status", &Map::new()).await {
        Ok(said) => said,
        // netifd has no wireless handlers or is not running.
        Err(error) if error.status() == Status::NotFound => Map::new(),
        Err(error) => return Err(error.into()),
    };
    let clients = clients(&call.bus, &said).await;
    let (measured, board) = (measured::read(), board::read());
    let facts = Facts { clients, measured, board, features: board::features() };
    Ok(map([("radios", radios(&said, &facts))]))
}

async fn clients(bus: &Bus, said: &Map) -> Vec<(String, Map)> {
    let mut clients = Vec::new();
    let points = said.values().filter_map(|radio| radio["interfaces"].as_array()).flatten();
    for device in points.filter_map(|point| point["ifname"].as_str()) {
        // An SSID that is starting has no object yet, and stations have none.
        if let Ok(said) = bus.call(&format!("hostapd.{device}"), "get_clients", &Map::new()).await {
            clients.push((device.to_owned(), said));
        }
    }
    clients
}

/// Converts netifd's answer to a list of radios, sorted by name.
fn radios(said: &Map, facts: &Facts) -> Value {
    let mut radios: Vec<(&String, &Value)> = said.iter().collect();
    config::sort::by(&mut radios, |(a, _), (b, _)| a.cmp(b));
    radios.into_iter().map(|(name, radio)| shown(name, radio, facts)).collect()
}

fn shown(name: &str, radio: &Value, facts: &Facts) -> Value {
    let config = &radio["config"];
    let is = |field: &str| radio[field] == true;
    let points = radio["interfaces"].as_array().into_iter().flatten();
    let points: Value = points.map(|of| point(of, facts)).collect();
    // wifi-scripts accept both names of the option.
    let country = text(&config["country"]) + &text(&config["country_code"]);
    let band = text(&config["band"]);
    let place = ["path", "phy"].map(|option| config[option].as_str().unwrap_or_default());
    let mut shown = json!({
        "name": name,
        "band": band,
        "channel": text(&config["channel"]),
        "country": country,
        "disabled": is("disabled"),
        "up": is("up"),
        "pending": is("pending"),
        "failed": is("retry_setup_failed"),
        "features": facts.features,
        "ssids": points,
    });
    if let Some(modes) = board::modes(&facts.board, place, &band) {
        shown["modes"] = json!(modes);
    }
    shown
}

fn point(point: &Value, facts: &Facts) -> Value {
    let config = &point["config"];
    let device = text(&point["ifname"]);
    let mut shown = json!({
        "section": text(&point["section"]),
        "ssid": text(&config["ssid"]),
        "mode": text(&config["mode"]),
        "encryption": text(&config["encryption"]),
        "networks": words(&config["network"]),
    });
    if let Some((_, said)) = facts.clients.iter().find(|(of, _)| *of == device) {
        let stations = said.get("clients").and_then(Value::as_object).into_iter().flatten();
        let stations = stations.filter(|(_, of)| of["authorized"] == true);
        shown["stations"] = stations.take(STATIONS).map(station).collect();
        shown["frequency_mhz"] = json!(said.get("freq").and_then(Value::as_u64).unwrap_or(0));
    }
    if let Some(measured) = facts.measured.iter().find(|of| of.device == device) {
        let Measured { width_mhz, txpower_dbm, txpower_max_dbm, .. } = measured;
        if let Some(width) = width_mhz {
            shown["width_mhz"] = json!(width);
        }
        for (field, power) in [("txpower_dbm", txpower_dbm), ("txpower_max_dbm", txpower_max_dbm)] {
            if let Some(power) = power {
                shown[field] = json!(power);
            }
        }
    }
    shown["device"] = json!(device);
    shown
}

fn station((mac, said): (&String, &Value)) -> Value {
    let mut shown = json!({ "mac": mac });
    // Without an answer of its driver, a station has neither field.
    if let Some(signal) = said["signal"].as_i64() {
        shown["signal_dbm"] = json!(signal);
    }
    // hostapd's `tx` is what the access point sends.
    if let (Some(down), Some(up)) = (said["rate"]["tx"].as_u64(), said["rate"]["rx"].as_u64()) {
        shown["down_kbit"] = json!(down);
        shown["up_kbit"] = json!(up);
    }
    shown
}

/// Returns a string or number as text, because wireless handlers report channels as either.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().map(text).collect(),
        other => text(other).split_whitespace().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answer of netifd v25.12.5 for two radios; the second SSID has no device yet.
    fn said() -> Map {
        let said = json!({
            "radio1": {"up": false, "pending": false, "autostart": true, "disabled": true,
                "retry_setup_failed": false, "config": {"band": "2g", "disabled": true},
                "interfaces": []},
            "radio0": {"up": true, "pending": false, "autostart": true, "disabled": false,
                "retry_setup_failed": false,
                "config": {"band": "5g", "channel": 36, "country": "DE", "path": "soc/wifi"},
                "interfaces": [
                    {"section": "home", "ifname": "phy0-ap0", "vlans": [], "stations": [
                        {"section": "cfg0a", "config": {"mac": "*", "key": "station secret"}}],
                     "config": {"mode": "ap", "ssid": "Home", "encryption": "sae-mixed",
                        "key": "home secret", "sae_password": ["other secret"],
                        "auth_secret": "radius secret", "network": ["lan"], "radios": []}},
                    {"section": "guests", "vlans": [], "stations": [],
                     "config": {"mode": "ap", "ssid": "Guests", "encryption": "owe",
                        "network": "guest dmz"}},
                ]},
        });
        said.as_object().cloned().unwrap_or_default()
    }

    /// Answer of hostapd in OpenWrt v25.12.5, with the fields that are read.
    fn facts() -> Facts {
        let said = json!({"freq": 5180, "clients": {
            "02:00:00:00:00:01": {"auth": true, "assoc": true, "authorized": true, "aid": 1,
                "bytes": {"rx": 1, "tx": 2}, "rate": {"rx": 780_000, "tx": 866_700},
                "signal": -52, "signature": "wifi4|secret"},
            "02:00:00:00:00:02": {"auth": true, "assoc": true, "authorized": true, "aid": 2},
            "02:00:00:00:00:03": {"auth": true, "assoc": true, "authorized": false, "aid": 3},
        }});
        let said = said.as_object().cloned().unwrap_or_default();
        Facts { clients: vec![("phy0-ap0".to_owned(), said)], ..Facts::default() }
    }

    #[test]
    fn reports_authorized_stations() {
        let one = json!({"mac": "02:00:00:00:00:01", "signal_dbm": -52, "down_kbit": 866_700,
            "up_kbit": 780_000});
        let two = json!({"mac": "02:00:00:00:00:02"});
        let home = &radios(&said(), &facts())[0]["ssids"][0];
        assert_eq!(home["stations"], json!([one, two]));
        assert_eq!(home["frequency_mhz"], 5180);
    }

    #[test]
    fn many_stations_are_limited() {
        let station = json!({"authorized": true});
        let many = (0..2007).map(|n| (format!("{n:012x}"), station.clone())).collect::<Map>();
        let said_of = map([("clients", Value::Object(many))]);
        let facts = Facts { clients: vec![("phy0-ap0".to_owned(), said_of)], ..Facts::default() };
        let shown = radios(&said(), &facts);
        assert_eq!(shown[0]["ssids"][0]["stations"].as_array().map(Vec::len), Some(STATIONS));
    }

    #[test]
    fn reports_radios_sorted_by_name_with_their_networks() {
        let off = json!({"name": "radio1", "band": "2g", "channel": "", "country": "",
            "disabled": true, "up": false, "pending": false, "failed": false, "features": [],
            "ssids": []});
        let home = json!({"section": "home", "ssid": "Home", "mode": "ap", "device": "phy0-ap0",
            "encryption": "sae-mixed", "networks": ["lan"]});
        let guests = json!({"section": "guests", "ssid": "Guests", "mode": "ap", "device": "",
            "encryption": "owe", "networks": ["guest", "dmz"]});
        let on = json!({"name": "radio0", "band": "5g", "channel": "36", "country": "DE",
            "disabled": false, "up": true, "pending": false, "failed": false, "features": [],
            "ssids": [home, guests]});
        assert_eq!(radios(&said(), &Facts::default()), json!([on, off]));
    }

    #[test]
    fn reports_what_is_in_use_and_what_is_supported() {
        let device = "phy0-ap0".to_owned();
        let (width_mhz, txpower_dbm, txpower_max_dbm) = (Some(80), Some(20), Some(23));
        let measured = vec![Measured { device, width_mhz, txpower_dbm, txpower_max_dbm }];
        let bands = json!({"5G": {"modes": ["HE40", "HE80"]}});
        let board = json!({"wlan": {"phy0": {"path": "soc/wifi", "info": {"bands": bands}}}});
        let features = vec!["ieee80211r"];
        let facts = Facts { measured, board, features, ..Facts::default() };
        let shown = radios(&said(), &facts);
        assert_eq!(shown[0]["features"], json!(["ieee80211r"]));
        assert_eq!(shown[0]["modes"], json!(["HE40", "HE80"]));
        let home = &shown[0]["ssids"][0];
        assert_eq!((&home["width_mhz"], &home["txpower_dbm"]), (&json!(80), &json!(20)));
        assert_eq!(home["txpower_max_dbm"], 23);
        assert_eq!(shown[0]["ssids"][1]["width_mhz"], Value::Null);
        assert_eq!(shown[1]["modes"], Value::Null);
    }

    #[test]
    fn the_answer_contains_no_key() {
        assert!(Value::Object(said()).to_string().contains("secret"));
        assert!(!radios(&said(), &facts()).to_string().contains("secret"));
    }

    #[test]
    fn a_router_without_radios_reports_an_empty_list() {
        assert_eq!(radios(&Map::new(), &Facts::default()), json!([]));
    }
}
