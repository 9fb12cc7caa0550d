// SPDX-License-Identifier: GPL-2.0-or-later
use config::{SettingsError, parse_uci};

use super::*;

fn read(text: &str) -> Result<Settings, SettingsError> {
    let values = parse_uci(text).expect("UCI");
    let mut package = Package::new(&values)?;
    let settings = Settings::read(&mut package);
    let warnings = package.finish()?;
    assert!(warnings.is_empty(), "{warnings:?}");
    Ok(settings)
}

fn problem(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

const SUM: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn defaults_are_own_rules_and_a_nightly_update() {
    let settings = read("").expect("good");
    assert_eq!(settings, Settings::default());
    assert_eq!(settings.hour, Hour::Daily(4));
    assert_eq!(settings.own, Some(OwnRules::default()));
}

#[test]
fn a_source_becomes_part_of_the_request() {
    let text = format!(
        "config rules 'et'\n option url 'http://rules.example/et.tar.gz'\n option sha256 '{SUM}'\n \
         list category 'malware'\n list disable '1:7'\n list drop 'cat:malware'\n\
         config rules 'off'\n option enabled '0'\n option url 'https://x.example/y'\n \
         option unverified 1\n\
         config update 'update'\n option hour '-1'\n option store '/srv/rules'\n \
         option limit_mib '8'\n"
    );
    let settings = read(&text).expect("good");
    assert_eq!(settings.hour, Hour::Manual);
    let request =
        settings.request(Path::new("/own.rules"), vec!["t".into(), "{rules}".into()], true);
    assert_eq!(request.sources.len(), 1);
    assert_eq!(request.sources[0].categories, ["malware"]);
    assert_eq!(request.sources[0].disable, ["1:7"]);
    assert_eq!(request.sources[0].drop, ["cat:malware"]);
    assert_eq!(request.limit_bytes, 8 << 20);
    assert_eq!(request.store, Path::new("/srv/rules"));
    let text = serde_json::to_string(&request).expect("JSON");
    assert_eq!(Request::parse(&text).expect("a good request"), request);
}

#[test]
fn own_rules_can_be_selected_and_disabled() {
    let some = read("config rules 'fastpath'\n list disable '8100052'\n").expect("good");
    assert_eq!(some.own.expect("on").disable, ["8100052"]);
    let none = read("config rules 'fastpath'\n option enabled '0'\n").expect("good");
    assert_eq!(none.own, None);
    assert_eq!(none.request(Path::new("/own"), vec!["{rules}".into()], true).builtin, None);
}

#[test]
fn disabled_updates_are_manual() {
    let settings = read("config update 'update'\n option enabled '0'\n option hour '5'\n");
    assert_eq!(settings.expect("good").hour, Hour::Manual);
}

#[test]
fn reports_section_and_option_of_invalid_values() {
    let source = |lines: &str| {
        problem(&format!("config rules 'et'\n option url 'https://e.example/r.tgz'\n{lines}"))
    };
    let update = |lines: &str| problem(&format!("config update 'update'\n{lines}"));
    for (problem, wanted) in [
        (source(""), "section 'et', option 'unverified', value '': is not set"),
        (source("option sha256 'abc'\n"), "option 'sha256', value 'abc': is not 64"),
        (source("option sha256_url 'http://e.example/s'\n"), "option 'sha256_url', value 'http:"),
        (source("option signature_url 'https://e.example/s'\n"), "option 'key', value '': is miss"),
        (
            source("option signature_url 'https://e.example/s'\noption key 'RWQ='\n"),
            "option 'key', value '•••': the key is not a usign public key",
        ),
        (source("option unverified '1'\nlist disable '-1'\n"), "option 'disable'"),
        (source("option unverified '1'\nlist drop 'cat:a/b'\n"), "option 'drop'"),
        (source("option unverified '1'\nlist category '../x'\n"), "option 'category'"),
        (
            problem("config rules 'et'\n option unverified '1'\n"),
            "option 'url', value '': does not",
        ),
        (
            problem(
                "config rules 'et'\n option unverified '1'\n option url 'http://e.example/r'\n",
            ),
            "option 'unverified', value '1': is not enough for http",
        ),
        (
            problem("config rules 'et'\n option url 'file:///etc/passwd'\n"),
            "option 'url', value '•••': does not begin with",
        ),
        (update("option hour '24'\n"), "section 'update', option 'hour', value '24'"),
        (update("option store 'rules'\n"), "option 'store'"),
        (update("option store '/var/../etc'\n"), "option 'store'"),
        (update("option limit_mib '0'\n"), "option 'limit_mib', value '0'"),
    ] {
        assert!(problem.contains(wanted), "{problem}\nshould have: {wanted}");
    }
}
