// SPDX-License-Identifier: GPL-2.0-or-later
//! Kinds that devices announce themselves, by services in mDNS and by default names. Includes only
//! announcements that leave no doubt; an address with two kinds has none.

use std::collections::HashMap;
use std::net::IpAddr;

use serde_json::Value;
use topology::Mac;

use super::is_random;

const MAX_ADDRESSES: usize = 1024;

/// Returns kinds by address from the answer of `umdns browse {"array":true}` (OpenWrt's umdns,
/// a52cdb3): `{SERVICE: {INSTANCE: {"ipv4": […], "ipv6": […], "txt": ["key=value", …]}}}`.
pub(crate) fn announced(services: &Value) -> HashMap<IpAddr, &'static str> {
    let mut kinds = HashMap::new();
    for (service, instances) in services.as_object().into_iter().flatten() {
        for instance in instances.as_object().into_iter().flat_map(|all| all.values()) {
            let Some(kind) = of_service(service, instance) else { continue };
            for address in texts(&instance["ipv4"]).chain(texts(&instance["ipv6"])) {
                let Ok(address) = address.parse::<IpAddr>() else { continue };
                if kinds.len() < MAX_ADDRESSES || kinds.contains_key(&address) {
                    let known = kinds.entry(address).or_insert(kind);
                    *known = if *known == kind { kind } else { "" };
                }
            }
        }
    }
    kinds
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// A `_printer._tcp` may be the queue of a computer, whose CUPS announces it as well.
fn of_service(service: &str, instance: &Value) -> Option<&'static str> {
    let value = |key: &str| {
        let mut pairs = texts(&instance["txt"]).filter_map(|text| text.split_once('='));
        pairs.find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    };
    match service {
        "_pdl-datastream._tcp" => Some("printer"),
        // CUPS shares its queues below `printers`.
        "_ipp._tcp" | "_ipps._tcp" => {
            let is_own = !value("rp")?.trim_start_matches('/').starts_with("printers/");
            is_own.then_some("printer")
        }
        "_sonos._tcp" => Some("speaker"),
        "_axis-video._tcp" => Some("camera"),
        "_androidtvremote2._tcp" => Some("tv"),
        "_googlecast._tcp" => of_cast(value("md")?),
        "_airplay._tcp" | "_device-info._tcp" => of_apple(value("model")?),
        "_raop._tcp" => of_apple(value("am")?),
        _ => None,
    }
}

/// Smart displays and speaker groups have other models.
fn of_cast(model: &str) -> Option<&'static str> {
    let mut words = model.split(|c: char| !c.is_ascii_alphanumeric());
    let speakers = ["Google Home", "Google Home Mini", "Google Home Max", "Google Nest Mini"];
    if speakers.contains(&model) || model == "Nest Audio" || model == "Chromecast Audio" {
        Some("speaker")
    } else if words.any(|word| word == "TV" || word == "Chromecast") {
        Some("tv")
    } else {
        None
    }
}

/// Newer Macs are all called `Mac15,3`.
fn of_apple(model: &str) -> Option<&'static str> {
    let models = [
        ("MacBook", "laptop"),
        ("iMac", "desktop"),
        ("Macmini", "desktop"),
        ("MacPro", "desktop"),
        ("AppleTV", "tv"),
        ("AudioAccessory", "speaker"),
        ("iPhone", "phone"),
        ("iPad", "tablet"),
    ];
    models.into_iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, kind)| kind)
}

/// Returns the kind of a device whose host name is its vendor's default.
pub(super) fn of_name(name: &str, mac: Mac, vendor: &str) -> Option<&'static str> {
    // Printers have digits of their own MAC in the name.
    let digits: String = mac.to_string().replace(':', "").to_ascii_uppercase();
    let printers = [("EPSON", 6), ("HP", 6), ("NPI", 6), ("BRN", 12), ("BRW", 12)];
    let is_printer = |(prefix, len): &(&str, usize)| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.eq_ignore_ascii_case(&digits[12 - len..]))
    };
    if printers.iter().any(is_printer) {
        return Some("printer");
    }
    let by_vendor = [
        ("iPhone", "Apple", "phone"),
        ("iPad", "Apple", "tablet"),
        ("PS4-", "Sony Interactive", "console"),
        ("PS5-", "Sony Interactive", "console"),
    ];
    let is_default = |(prefix, of, _): &(&str, &str, &str)| {
        // Phones use random MACs, and no other default begins like these.
        let is_vendor = vendor.starts_with(of) || *of == "Apple" && is_random(mac);
        let matches =
            if prefix.ends_with('-') { name.starts_with(prefix) } else { name == *prefix };
        is_vendor && matches
    };
    by_vendor.into_iter().find(is_default).map(|(.., kind)| kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_services_without_doubt_tell_the_kind() {
        for (service, txt, kind) in [
            ("_pdl-datastream._tcp", "", "printer"),
            ("_ipp._tcp", "rp=ipp/print", "printer"),
            ("_ipp._tcp", "RP=/printers/laser", ""),
            ("_ipp._tcp", "", ""),
            ("_printer._tcp", "rp=lp", ""),
            ("_sonos._tcp", "", "speaker"),
            ("_googlecast._tcp", "md=Chromecast Ultra", "tv"),
            ("_googlecast._tcp", "md=BRAVIA TV", "tv"),
            ("_googlecast._tcp", "md=Chromecast Audio", "speaker"),
            ("_googlecast._tcp", "md=Google Home Mini", "speaker"),
            ("_googlecast._tcp", "md=Google Nest Hub", ""),
            ("_googlecast._tcp", "md=Google Cast Group", ""),
            ("_googlecast._tcp", "", ""),
            ("_airplay._tcp", "model=AppleTV11,1", "tv"),
            ("_airplay._tcp", "model=Mac15,3", ""),
            ("_device-info._tcp", "model=MacBookPro18,3", "laptop"),
            ("_raop._tcp", "am=AudioAccessory5,1", "speaker"),
            ("_smb._tcp", "model=MacBookPro18,3", ""),
        ] {
            let instance = json!({"ipv4": ["10.0.0.5"], "ipv6": ["fd00::5"], "txt": ["a", txt]});
            let kinds = announced(&json!({service: {"some name": instance}}));
            for address in ["10.0.0.5", "fd00::5"] {
                let found = kinds.get(&address.parse::<IpAddr>().unwrap()).copied();
                assert_eq!(found.unwrap_or_default(), kind, "{service} {txt}");
            }
        }
    }

    #[test]
    fn two_kinds_of_an_address_are_none_and_answers_are_bounded() {
        let at = |address: &str| json!({"ipv4": [address, 5, "x"], "txt": "y"});
        let kinds = announced(&json!({
            "_sonos._tcp": {"a": at("10.0.0.1"), "b": at("10.0.0.2"), "c": 7},
            "_axis-video._tcp": {"a": at("10.0.0.1")}, "_axis": [],
        }));
        let of = |text: &str| kinds.get(&text.parse::<IpAddr>().unwrap()).copied();
        assert_eq!((of("10.0.0.1"), of("10.0.0.2")), (Some(""), Some("speaker")));
        let many: Vec<String> =
            (0..5000).map(|n| format!("10.1.{}.{}", n / 250, n % 250)).collect();
        let kinds = announced(&json!({"_sonos._tcp": {"a": {"ipv4": many}}}));
        assert_eq!(kinds.len(), MAX_ADDRESSES);
        assert!(announced(&Value::Null).is_empty());
    }

    #[test]
    fn only_default_names_of_the_vendor_tell_the_kind() {
        let apple = "Apple, Inc.";
        for (name, mac, vendor, kind) in [
            ("EPSON1a2b3c", "64:eb:8c:1a:2b:3c", "", Some("printer")),
            ("EPSON1A2B3D", "64:eb:8c:1a:2b:3c", "Seiko Epson", None),
            ("EPSON", "64:eb:8c:1a:2b:3c", "Seiko Epson", None),
            ("BRW64EB8C1A2B3C", "64:eb:8c:1a:2b:3c", "", Some("printer")),
            ("BRW1A2B3C", "64:eb:8c:1a:2b:3c", "", None),
            ("iPhone", "28:cf:e9:00:00:01", apple, Some("phone")),
            ("iPhone", "2a:cf:e9:00:00:01", "", Some("phone")),
            ("iPhone", "64:eb:8c:1a:2b:3c", "", None),
            ("iPhone-case", "28:cf:e9:00:00:01", apple, None),
            ("iPad", "28:cf:e9:00:00:01", apple, Some("tablet")),
            ("PS5-1A2B3C", "00:d9:d1:00:00:01", "Sony Interactive Entertainment", Some("console")),
            ("PS5-1A2B3C", "02:d9:d1:00:00:01", "", None),
            ("android-1234", "64:eb:8c:1a:2b:3c", "Samsung", None),
            ("", "64:eb:8c:1a:2b:3c", apple, None),
        ] {
            assert_eq!(of_name(name, mac.parse().unwrap(), vendor), kind, "{name} {mac}");
        }
    }
}
