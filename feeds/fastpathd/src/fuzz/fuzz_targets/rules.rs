// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as an archive of rules: no panic, bounded memory, and one line for each accepted rule.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rules::{ArchiveLimits, Choice, Rule, Selector, collect};

fuzz_target!(|bytes: &[u8]| {
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
        let rule = Rule::parse(text).expect("it was read before");
        assert_eq!((rule.gid, rule.sid, rule.rev), (wanted.gid, wanted.sid, wanted.rev));
        assert_eq!(rule.stops(), wanted.stops);
    }
});
