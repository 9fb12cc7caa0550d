// SPDX-License-Identifier: GPL-2.0-or-later
//! The digest of a UCI package that shows which configuration is in use: which parts of it count,
//! and that secrets are masked first.

use serde_json::Value;
use uci::{Package, Setting};

use crate::secret::shown;

/// Ends of texts and sections: no text of UCI has them.
const END: u8 = 0;
const SECTION: u8 = 1;

/// A digest of a package's `values` as `uci get` answers them (and [`crate::parse_uci`]). Names
/// that uci makes up for anonymous sections do not count, nor does the order of options.
///
/// Everybody who may log in can read it. Secrets are masked before they are hashed: otherwise a
/// password could be guessed by trying.
#[must_use]
pub fn digest(values: &Value) -> String {
    let mut hash = Hash::default();
    for section in values.as_object().map(Package::read).unwrap_or_default().sections {
        hash.add(&[SECTION]);
        hash.text(&section.kind);
        hash.text(if section.anonymous { "" } else { &section.name });
        for (name, setting) in &section.options {
            hash.text(name);
            hash.text(if let Setting::Text(_) = setting { "option" } else { "list" });
            for text in setting.texts() {
                hash.text(&shown(&section.kind, name, text));
            }
        }
    }
    format!("{:016x}", hash.0)
}

/// FNV-1a with 64 bits: it distinguishes configurations and secures nothing.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&mut self, text: &str) {
        self.add(text.as_bytes());
        self.add(&[END]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parse_uci;

    fn of(text: &str) -> String {
        digest(&parse_uci(text).unwrap())
    }

    #[test]
    fn what_rpcd_answers_and_the_file_have_the_same() {
        let rpcd = json!({
            "cfg0392bd": {".type": "policy", ".anonymous": true, ".index": 1, ".name": "cfg0392bd",
                "src": "lan", "list": ["a", "b"], "empty": ""},
            "main": {".type": "fastpath", ".anonymous": false, ".index": 0, ".name": "main",
                "engine": "ebpf", "enabled": "1"},
        });
        let file = "config fastpath 'main'\n\toption enabled 1\n\toption engine ebpf\n\
            config policy\n\tlist list a\n\tlist list b\n\toption src lan\n";
        assert_eq!(digest(&rpcd), of(file));
    }

    #[test]
    fn every_difference_that_uci_knows_is_one() {
        let texts = [
            "",
            "config a",
            "config a 'n'",
            "config a 'n'\n option x 1",
            "config a 'n'\n list x 1",
            "config a 'n'\n option x 1\n option y 1",
            "config a 'n'\n option x 1\nconfig a",
            "config a\nconfig a 'n'\n option x 1",
            "config b 'n'\n option x 1",
        ];
        let mut digests: Vec<String> = texts.iter().map(|text| of(text)).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), texts.len());
    }

    #[test]
    fn a_password_cannot_be_guessed_by_it() {
        let of = |password: &str| {
            of(&format!("config rules 'et'\n option url 'https://ann:{password}@h.example/'\n"))
        };
        assert_eq!(of("geheim"), of("another"));
    }
}
