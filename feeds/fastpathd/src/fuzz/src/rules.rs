// SPDX-License-Identifier: GPL-2.0-or-later
//! Rule downloads (archives, lines, signatures), and requests and reports of updates.

use rules::{ArchiveLimits, Choice, Request, Rule, Selector, State, UsignKey, collect};

/// A public key of usign, for a signature in the corpus.
const KEY: &str = "RWRhYmNkZWZnaNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";

/// Unpacks an archive of rules, or plain text, within a memory limit.
pub(crate) fn archive(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 20;
    let drop = [Selector::Category("plain".to_owned())];
    let choice = Choice::new(&[], &[], &drop);
    let Ok(found) = collect(bytes, "plain.rules", &ArchiveLimits::of_bytes(LIMIT), choice) else {
        return;
    };
    assert!(found.unpacked <= LIMIT);
    for wanted in &found.rules {
        let text = found.text(wanted);
        assert!(!text.contains('\n') && !text.starts_with('#'));
        let rule = Rule::parse(text).expect("collected rules can be parsed");
        assert_eq!((rule.gid, rule.sid, rule.rev), (wanted.gid, wanted.sid, wanted.rev));
        assert_eq!(rule.stops(), wanted.stops);
    }
}

/// Parses single rules. A rule converted to drop must keep its number.
pub(crate) fn lines(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let Ok(rule) = Rule::parse(line) else { continue };
        let Ok(dropping) = rule.as_drop() else { continue };
        let dropping = Rule::parse(&dropping).expect("a rule that drops");
        assert_eq!((dropping.gid, dropping.sid, dropping.rev), (rule.gid, rule.sid, rule.rev));
        assert!(dropping.stops());
    }
}

pub(crate) fn update(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = Request::parse(&text) {
        assert!(!error.to_string().is_empty());
    }
    if let Ok(state) = serde_json::from_slice(bytes) {
        let _ = State::read(state);
    }
    for key in [&*text, KEY] {
        if let Ok(key) = UsignKey::parse(key) {
            assert!(key.check(&text, &b"rules"[..], "").is_err(), "nobody has the secret key");
        }
    }
}
