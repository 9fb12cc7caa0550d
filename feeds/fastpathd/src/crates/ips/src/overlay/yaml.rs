// SPDX-License-Identifier: GPL-2.0-or-later

use std::fmt::Write;
use std::path::Path;

pub(super) fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for c in path.to_string_lossy().chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() || c as u32 > 0xffff => {
                let _ = write!(text, "\\U{:08x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Formats CPUs one by one, because Suricata refuses a range that ends above the online CPUs.
pub(super) fn list(cpus: &[u32]) -> String {
    let cpus = crate::threads::ascending(cpus);
    let texts: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    format!("[ {} ]", texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_characters_that_end_a_quoted_path() {
        assert_eq!(quoted(Path::new("/a b/c")), r#""/a b/c""#);
        assert_eq!(quoted(Path::new("a\"\nb\\: c")), r#""a\"\U0000000ab\\: c""#);
    }

    #[test]
    fn lists_each_cpu_once_in_ascending_order() {
        assert_eq!(list(&[3, 1, 3]), "[ 1, 3 ]");
    }
}
