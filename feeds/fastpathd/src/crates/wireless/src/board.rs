// SPDX-License-Identifier: GPL-2.0-or-later
//! Capabilities of radios, from `/etc/board.json` (written by `wifi-detect.uc` of wifi-scripts),
//! and of hostapd, from its program.

use serde_json::Value;

const BOARD: &str = "/etc/board.json";
const HOSTAPD: &str = "/usr/sbin/hostapd";
/// Options of `wifi-iface`, and a keyword of hostapd's configuration that only builds with the
/// feature know. `hostapd -v` reports 802.11r only.
const FEATURES: [(&str, &str); 3] = [
    ("ieee80211r", "mobility_domain"),
    ("ieee80211k", "rrm_neighbor_report"),
    ("bss_transition", "bss_transition"),
];

/// Returns the board's description; null without one.
#[must_use]
pub fn read() -> Value {
    let text = std::fs::read(BOARD).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns the values of `htmode` that a radio supports in a band; `None` if unknown. `place` has
/// the options `path` and `phy`, of which a radio has one.
#[must_use]
pub fn modes<'a>(board: &'a Value, place: [&str; 2], band: &str) -> Option<Vec<&'a str>> {
    let [path, phy] = place;
    let is_it = |name: &str, radio: &Value| match phy {
        "" => !path.is_empty() && radio["path"].as_str().is_some_and(|end| path.ends_with(end)),
        phy => name == phy,
    };
    let mut radios = board["wlan"].as_object()?.iter();
    let (_, radio) = radios.find(|(name, radio)| is_it(name, radio))?;
    let modes = radio["info"]["bands"][band.to_ascii_uppercase()]["modes"].as_array()?;
    Some(modes.iter().filter_map(Value::as_str).collect())
}

/// Returns the options of SSIDs that the installed hostapd supports.
pub(crate) fn features() -> Vec<&'static str> {
    features_of(&std::fs::read(HOSTAPD).unwrap_or_default())
}

fn features_of(program: &[u8]) -> Vec<&'static str> {
    let has = |word: &str| {
        // Linkers merge a text with the end of another.
        let (end, length) = ([word.as_bytes(), &[0]].concat(), word.len() + 1);
        program.windows(length).any(|part| part == end)
    };
    FEATURES.into_iter().filter(|(_, word)| has(word)).map(|(option, _)| option).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn returns_the_modes_of_a_radio_by_path_or_phy() {
        let bands = json!({"2G": {"modes": ["NOHT", "HT20"]}, "5G": {"modes": ["VHT80"]}});
        let radio = json!({"path": "pci0000:00/0000:01:00.0", "info": {"bands": bands}});
        let board = json!({"wlan": {"phy0": radio, "defaults": {}}});
        let two = Some(vec!["NOHT", "HT20"]);
        assert_eq!(modes(&board, ["", "phy0"], "2g"), two);
        let path = "platform/soc/pci0000:00/0000:01:00.0";
        assert_eq!(modes(&board, [path, ""], "2g"), two);
        assert_eq!(modes(&board, [path, ""], "5g"), Some(vec!["VHT80"]));
        assert_eq!(modes(&board, [path, ""], "6g"), None);
        assert_eq!(modes(&board, ["soc/other", ""], "2g"), None);
        assert_eq!(modes(&board, ["", ""], "2g"), None);
        assert_eq!(modes(&Value::Null, ["", "phy0"], "2g"), None);
    }

    #[test]
    fn finds_the_features_of_hostapd() {
        assert_eq!(
            features_of(b"\0mobility_domain\0xbss_transition\0"),
            ["ieee80211r", "bss_transition"]
        );
        assert_eq!(features_of(b"bss_transition_request\0"), [""; 0]);
    }
}
