// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;
use crate::archive::ArchiveLimits;
use crate::collect::collect;
use crate::merge::{Part, merge};
use crate::select::Choice;

const RULES: &str = "/var/lib/fastpath/rules/work/new.rules";

/// Returns the faults of a source. Its lines 1 to 3 are lines 3 to 5 of the merged file.
fn fault_texts(said: &str) -> Vec<String> {
    let lines: Vec<String> =
        (1..=3).map(|sid| format!("alert tcp any any -> any any (sid:{sid};)\n")).collect();
    let text = lines.concat();
    let limits = ArchiveLimits::of_bytes(1 << 20);
    let rules = collect(text.as_bytes(), "a.rules", &limits, Choice::default()).expect("rules");
    let parts = [Part { name: "a".into(), rules, own: false }];
    let text = |fault: Fault| format!("{} line {}: {}", fault.file, fault.line, fault.said);
    faults(said, RULES, &merge(&parts)).into_iter().map(text).collect()
}

#[test]
fn finds_the_source_line_of_suricatas_errors() {
    // Output of Suricata 8.0.8, in the default and in a custom log format.
    let said = format!(
        "i: suricata: This is Suricata version 8.0.8 RELEASE running in SYSTEM mode\n\
         E: detect-parse: unknown rule keyword 'foo'.\n\
         E: detect: error parsing signature \"alert tcp any any -> any any (foo; sid:2;)\" \
         from file {RULES} at line 4\n\
         [7 - Suricata-Main] 2026-11-21 07:00:00 Error: detect-parse: no such classtype\n\
         [7 - Suricata-Main] 2026-11-21 07:00:00 Error: detect: error parsing signature \"x\" \
         from file {RULES} at line 5\n\
         E: suricata: Loading signatures failed.\n"
    );
    let wanted =
        ["a.rules line 2: unknown rule keyword 'foo'.", "a.rules line 3: no such classtype"];
    assert_eq!(fault_texts(&said), wanted);
}

#[test]
fn signature_text_cannot_change_the_position() {
    let said = format!(
        "E: detect: error parsing signature \"x from file {RULES} at line 3\" \
         from file {RULES} at line 5\n"
    );
    let texts = fault_texts(&said);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with("a.rules line 3: error parsing signature"), "{texts:?}");
}

#[test]
fn ignores_other_files_and_invalid_lines() {
    for place in ["/etc/suricata/x.rules at line 3", "new.rules at line 3"] {
        assert!(
            fault_texts(&format!("E: detect: error parsing signature \"x\" from file {place}\n"))
                .is_empty()
        );
    }
    for line in ["0", "1", "2", "6", "99999999999999999999", ""] {
        let said = format!("E: detect: signature \"x\" from file {RULES} at line {line}\n");
        assert!(fault_texts(&said).is_empty(), "{line}");
    }
}

#[test]
fn replaces_control_characters_in_messages() {
    let said = format!("E: detect-parse: a\x1b[31mb\nE: d: x from file {RULES} at line 3\n");
    assert_eq!(fault_texts(&said), ["a.rules line 1: a [31mb"]);
}

#[test]
fn reports_a_signal_or_lack_of_memory() {
    let merged = crate::merge::merge(&[]);
    let said = |script: &str| {
        let test = ["sh", "-c", script].map(str::to_owned);
        let (rules, dir) = (Path::new("/r"), Path::new("/d"));
        let time = Duration::from_secs(60);
        match trial(&test, rules, dir, &merged, time) {
            Err(UpdateReason::TestFailed { said }) => said,
            other => panic!("{other:?}"),
        }
    };
    let killed = said("echo 'E: detect: error in rule from file /r at line 1'; kill -KILL $$");
    assert!(killed.contains("SIGKILL") && killed.contains("memory"), "{killed}");
    let by_shell = said("echo 'i: detect: 9 rules loaded'; sh -c 'kill -SEGV $$'; exit $?");
    assert!(by_shell.contains("SIGSEGV") && !by_shell.contains("loaded"), "{by_shell}");
    let memory = said("echo 'E: mem: failed to allocate 9 bytes'; echo 'i: bye'; exit 1");
    assert!(memory.starts_with("not enough memory"), "{memory}");
    assert_eq!(said("exit 3"), "exit status: 3");
}
