// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares rendered overlays and arguments with `tests/golden/*.txt`.
//!
//! Each file has a purpose, then parts that begin with a line `-- NAME --`:
//! * `uci`: a configuration
//! * `plan`, if not one unpinned thread: lines `workers CPU…`, `management CPU…`, `pinned no`,
//!   `always` (some connections are inspected to their end), `home NETWORK…`
//! * `arguments`: one per line
//! * `overlay` in `router.txt`: the whole file
//! * `differences` from that overlay in all other files
//!
//! `GOLDEN_UPDATE=1` updates the parts from `arguments` on; review the diff before committing.

use std::fs;
use std::path::Path;

use crate::common::{Case, settings};
use crate::differences::differences;

fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("-- {name} --\n"))?;
    Some(rest.split_once("\n-- ").map_or(rest, |(part, _)| part))
}

fn numbers(words: &[&str]) -> Vec<u32> {
    words.iter().map(|word| word.parse().expect(word)).collect()
}

fn case(text: &str) -> Case {
    let uci = part(text, "uci").expect("a part uci");
    let mut case = Case { settings: settings(uci).expect(uci), ..Case::default() };
    case.threads.workers = vec![0];
    for line in part(text, "plan").unwrap_or_default().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["workers", cpus @ ..] => {
                case.threads.workers = numbers(cpus);
                case.threads.affinity = true;
            }
            ["management", cpus @ ..] => case.threads.management = numbers(cpus),
            ["pinned", "no"] => case.threads.affinity = false,
            ["always"] => case.always = true,
            ["home", networks @ ..] => {
                case.home = networks.iter().map(|net| net.parse().expect(net)).collect();
            }
            _ => panic!("unknown: {line}"),
        }
    }
    case
}

#[test]
fn overlays_and_arguments_match_the_golden_files() {
    const WHOLE: &str = "router.txt";
    let folder = Path::new("tests/golden");
    let whole = fs::read_to_string(folder.join(WHOLE)).expect(WHOLE);
    let whole = case(&whole).overlay();
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("tests/golden") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a text");
        let case = case(&text);
        let head = text.split_once("\n-- arguments --\n").map_or(&*text, |(head, _)| head);
        let head = head.trim_end();
        let arguments = case.arguments().join("\n");
        let overlay = case.overlay();
        let overlay = if path.ends_with(WHOLE) {
            format!("-- overlay --\n{overlay}")
        } else {
            let heading = |line: &str| line.starts_with(char::is_alphabetic);
            format!("-- differences --\n{}", differences(&whole, &overlay, heading))
        };
        let made = format!("{head}\n-- arguments --\n{arguments}\n{overlay}");
        if std::env::var_os("GOLDEN_UPDATE").is_some() {
            fs::write(&path, &made).expect("written");
        } else {
            assert_eq!(text, made, "{}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 5, "{seen} files");
}
