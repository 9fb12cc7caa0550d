// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares our parser with the real Suricata (`FASTPATH_SURICATA`) on generated lines. For each
//! unknown keyword that Suricata reports, our parser must have rejected or omitted the line.

use std::fmt::Write;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rules::Rule;

const LINES: usize = 3000;

/// Generates rules with the keyword `@` and the number `#`, among arbitrary characters.
fn lines() -> impl Strategy<Value = String> {
    let junk = || {
        prop_oneof![
            3 => Just(String::new()),
            2 => "[ \t(]{1,3}",
            1 => "[ \t(\\[\\]\"'!#;:,)\u{b}\u{c}\r\u{a0}\u{feff}x-]{1,2}",
        ]
    };
    let header = prop::sample::select(vec![
        "alert tcp any any -> any any",
        "drop http [10.0.0.0/8, !10.1.0.0/16] any -> $EXTERNAL_NET [80,8000:]",
        "alert tcp any [1, 2 -> any any",
        "alert  ip\tany any <> any any",
        "alert tcp any any => any any",
        "alert tcp any any any any",
        "alert tcp any any -> any [80",
        "pass tcp any any -> any any any",
    ]);
    let value = prop::sample::select(vec!["", ":x", ":\"a\\;b\"", " : x ", ":\"("]);
    let before = prop::sample::select(vec!["", "msg:\"a\\\\\";", "msg:\"a;\";", "nocase;"]);
    (header, junk(), before, junk(), value, junk()).prop_map(
        |(header, one, before, two, value, three)| {
            format!("{header} {one}({before}{two}@{three}{value}; sid:#;)")
        },
    )
}

#[test]
fn rejects_each_keyword_that_suricata_finds() {
    let Some(program) = std::env::var_os("FASTPATH_SURICATA") else {
        eprintln!("skipped: FASTPATH_SURICATA does not name a Suricata 8");
        return;
    };
    let mut runner = TestRunner::deterministic();
    let mut written = Vec::new();
    let mut text = String::new();
    for number in 1..=LINES {
        let line = lines().new_tree(&mut runner).expect("a line").current();
        let line = line.replace('@', &format!("zz{number}q")).replace('#', &number.to_string());
        let _ = writeln!(text, "{line}");
        written.push(line);
    }
    let folder = std::env::temp_dir().join(format!("fastpath-alike-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("alike.rules");
    std::fs::write(&file, text).expect("writable");
    let mut command = Command::new(program);
    command.args(["-T", "-c", "/etc/suricata/suricata.yaml", "-S"]).arg(&file);
    let output = command.arg("-l").arg(&folder).output().expect("Suricata");
    let _ = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let mut found = 0;
    for (number, line) in (1..).zip(&written) {
        if !said.contains(&format!("unknown rule keyword 'zz{number}q'")) {
            continue;
        }
        found += 1;
        let read = Rule::parse(line);
        let noticed = read.as_ref().map_or(true, |rule| rule.unusable.is_some());
        assert!(noticed, "Suricata finds a keyword that is hidden here: {line:?}");
    }
    assert!(found > LINES / 20, "Suricata found only {found}: {}", &said[..said.len().min(2000)]);
}
