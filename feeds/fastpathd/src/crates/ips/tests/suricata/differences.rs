// SPDX-License-Identifier: GPL-2.0-or-later

/// Returns the lines that `new` lacks (`-`) and adds (`+`), by a longest common subsequence, each
/// preceded by the last heading (`@`) and the last common line.
pub(crate) fn differences(old: &str, new: &str, heading: fn(&str) -> bool) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            common[at][to] = if old[at] == new[to] {
                common[at + 1][to + 1] + 1
            } else {
                common[at + 1][to].max(common[at][to + 1])
            };
        }
    }
    let (mut at, mut to) = (0, 0);
    let (mut key, mut said, mut before) = ("", "", None);
    let mut out = String::new();
    while at < old.len() || to < new.len() {
        let (gone, come) = (old.get(at), new.get(to));
        if let (Some(&line), true) = (gone, gone == come) {
            key = if heading(line) { line } else { key };
            before = Some(line);
            (at, to) = (at + 1, to + 1);
            continue;
        }
        if said != key {
            out.extend(["@ ", key, "\n"]);
            said = key;
        }
        if let Some(line) = before.take().filter(|&line| line != key) {
            out.extend([" ", line, "\n"]);
        }
        let goes = to == new.len() || (at < old.len() && common[at + 1][to] >= common[at][to + 1]);
        let (sign, line) = if goes { ("-", old[at]) } else { ("+", new[to]) };
        out.extend([sign, line, "\n"]);
        (at, to) = if goes { (at + 1, to) } else { (at, to + 1) };
    }
    out
}
