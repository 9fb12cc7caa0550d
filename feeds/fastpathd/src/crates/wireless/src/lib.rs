// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.wireless`: state of radios and SSIDs without their secrets.
//!
//! netifd's `network.wireless status` contains keys and RADIUS passwords, so viewers must not call
//! it. This object copies only known fields, so that options of later netifd versions are not
//! exposed.

#[cfg(feature = "fuzz")]
pub mod fuzz;

use plugin::{Call, Map, Object, Refusal, map, method};
use serde_json::{Value, json};
use ubus::Status;

pub static OBJECT: Object =
    Object { name: "fastpath.wireless", methods: &[method!("status", status)] };

async fn status(call: &Call) -> Result<Map, Refusal> {
    let said = match call.bus.call("network.wireless", "status", &Map::new()).await {
        Ok(said) => said,
        // netifd has no wireless handlers or is not running.
        Err(error) if error.status() == Status::NotFound => Map::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(map([("radios", radios(&said))]))
}

/// Converts netifd's answer to a list of radios, sorted by name.
fn radios(said: &Map) -> Value {
    let mut radios: Vec<(&String, &Value)> = said.iter().collect();
    radios.sort_by_key(|(name, _)| *name);
    radios.into_iter().map(|(name, radio)| shown(name, radio)).collect()
}

fn shown(name: &str, radio: &Value) -> Value {
    let config = &radio["config"];
    let is = |field: &str| radio[field] == true;
    let points = radio["interfaces"].as_array().into_iter().flatten();
    let points: Value = points.map(point).collect();
    // wifi-scripts accept both names of the option.
    let country = text(&config["country"]) + &text(&config["country_code"]);
    json!({
        "name": name,
        "band": text(&config["band"]),
        "channel": text(&config["channel"]),
        "country": country,
        "disabled": is("disabled"),
        "up": is("up"),
        "pending": is("pending"),
        "failed": is("retry_setup_failed"),
        "ssids": points,
    })
}

fn point(point: &Value) -> Value {
    let config = &point["config"];
    json!({
        "section": text(&point["section"]),
        "ssid": text(&config["ssid"]),
        "mode": text(&config["mode"]),
        "encryption": text(&config["encryption"]),
        "networks": words(&config["network"]),
        "device": text(&point["ifname"]),
    })
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

    #[test]
    fn reports_radios_sorted_by_name_with_their_networks() {
        let off = json!({"name": "radio1", "band": "2g", "channel": "", "country": "",
            "disabled": true, "up": false, "pending": false, "failed": false, "ssids": []});
        let home = json!({"section": "home", "ssid": "Home", "mode": "ap", "device": "phy0-ap0",
            "encryption": "sae-mixed", "networks": ["lan"]});
        let guests = json!({"section": "guests", "ssid": "Guests", "mode": "ap", "device": "",
            "encryption": "owe", "networks": ["guest", "dmz"]});
        let on = json!({"name": "radio0", "band": "5g", "channel": "36", "country": "DE",
            "disabled": false, "up": true, "pending": false, "failed": false,
            "ssids": [home, guests]});
        assert_eq!(radios(&said()), json!([on, off]));
    }

    #[test]
    fn the_answer_contains_no_key() {
        assert!(Value::Object(said()).to_string().contains("secret"));
        assert!(!radios(&said()).to_string().contains("secret"));
    }

    #[test]
    fn a_router_without_radios_reports_an_empty_list() {
        assert_eq!(radios(&Map::new()), json!([]));
    }
}
