// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/wireless`. hostapd disables a whole radio for one invalid value, and reports
//! it only in the log.

use ::wireless::board;

use super::Report;
use super::interface::unknown_interface;
use ::uci::Section;

const BANDS: &[&str] = &["2g", "5g", "6g", "60g"];
const MODES: &[&str] = &["ap", "sta", "adhoc", "mesh", "monitor", "wds", "none"];
/// Values before an optional `+` and ciphers, from `parse_encryption` of wifi-scripts.
#[rustfmt::skip]
const ENCRYPTIONS: &[&str] = &[
    "none", "owe", "dpp", "psk", "psk2", "psk-mixed", "psk3", "psk3-mixed", "sae", "sae-compat",
    "sae-mixed", "wep", "wep-open", "wep-shared", "wpa", "wpa2", "wpa-mixed", "wpa3", "wpa3-mixed",
    "wpa3-192", "8021x",
];
/// Values of `htmode`, from `wireless.wifi-device.json` of wifi-scripts.
#[rustfmt::skip]
const WIDTHS: &[&str] = &[
    "NOHT", "HT20", "HT40-", "HT40+", "HT40", "VHT20", "VHT40", "VHT80", "VHT160", "HE20", "HE40",
    "HE80", "HE160", "EHT20", "EHT40", "EHT80", "EHT160", "EHT320",
];
/// Maximum length of an SSID (IEEE 802.11), in bytes.
const MAX_SSID_LEN: usize = 32;

pub(super) fn judge(report: &mut Report<'_>) {
    let radios = report.of("wifi-device");
    for radio in &radios {
        report.switches(radio, &["disabled"]);
        report.text(radio, "band", "a band: 2g, 5g or 6g", |text| BANDS.contains(&text));
        report.text(radio, "country", "a country's two capital letters", is_country);
        report.text(radio, "channel", "a channel's number, or auto", is_channel);
        report.number(radio, "txpower", 0..=40);
        mode(report, radio);
    }
    for point in report.of("wifi-iface") {
        let features = ["ieee80211r", "ieee80211k", "bss_transition"];
        report.switches(point, &["disabled", "hidden", "isolate"]);
        report.switches(point, &features);
        report.text(point, "mode", "a mode such as ap", |text| MODES.contains(&text));
        let known = |text: &str| ENCRYPTIONS.contains(&kind(text));
        report.text(point, "encryption", "an encryption such as psk2 or sae", known);
        devices(report, point, &radios);
        networks(report, point);
        if point.text("mode").unwrap_or("ap") == "ap" && !point.is_on("disabled", false) {
            ssid(report, point);
            key(report, point);
        }
    }
}

/// hostapd does not start with a mode that the radio lacks.
fn mode(report: &mut Report<'_>, radio: &Section) {
    let [path, phy, band] = ["path", "phy", "band"].map(|of| radio.text(of).unwrap_or_default());
    let modes = board::modes(&report.validators.board, [path, phy], band);
    let fits = |text: &str| {
        let plain = text.trim_end_matches(['+', '-']);
        WIDTHS.contains(&text) && modes.as_ref().is_none_or(|modes| modes.contains(&plain))
    };
    report.text(radio, "htmode", "a mode that the radio supports in its band", fits);
}

fn kind(encryption: &str) -> &str {
    encryption.split('+').next().unwrap_or_default()
}

fn is_country(text: &str) -> bool {
    // `00` is the world regulatory domain.
    text == "00" || (text.len() == 2 && text.bytes().all(|c| c.is_ascii_uppercase()))
}

fn is_channel(text: &str) -> bool {
    text == "auto" || config::number(text).is_ok_and(|number| number <= 233)
}

fn devices(report: &mut Report<'_>, point: &Section, radios: &[&Section]) {
    let named = point.words("device");
    if named.is_empty() {
        report.note(point, "device", "missing", &[], "names no radio");
    }
    for name in named {
        if !radios.iter().any(|radio| radio.name == name) {
            let text = format!("there is no radio '{}'", name.escape_debug());
            report.note(point, "device", "unknown-radio", &[("radio", name)], &text);
        }
    }
}

fn networks(report: &mut Report<'_>, point: &Section) {
    let interfaces = report.others("network", "interface");
    for name in point.words("network") {
        if !interfaces.iter().any(|interface| interface.name == name) {
            unknown_interface(report, point, "network", name);
        }
    }
}

fn ssid(report: &mut Report<'_>, point: &Section) {
    match point.text("ssid") {
        Some(_) => report.text(point, "ssid", "a name of 1 to 32 bytes", |text| {
            (1..=MAX_SSID_LEN).contains(&text.len())
        }),
        None => report.note(point, "ssid", "missing", &[], "has no name"),
    }
}

/// Checks a passphrase, or a key in hexadecimal. Passphrases are ASCII (IEEE 802.11).
fn key(report: &mut Report<'_>, point: &Section) {
    let kind = kind(point.text("encryption").unwrap_or("none"));
    let wants = kind.starts_with("psk") || kind.starts_with("sae");
    if !wants {
        return;
    }
    if ["key", "sae_password", "wpa_psk_file"].iter().all(|name| point.text(name).is_none()) {
        report.note(point, "key", "missing", &[], "has no key");
    }
    let printable = |text: &str| text.bytes().all(|c| (0x20..0x7f).contains(&c));
    report.text(point, "key", "a key of 8 to 63 letters, digits and signs", |text| {
        let hex = text.len() == 64 && text.bytes().all(|c| c.is_ascii_hexdigit());
        hex || ((8..=63).contains(&text.len()) && printable(text))
    });
}
