// SPDX-License-Identifier: GPL-2.0-or-later
//! Digest of a UCI package, which identifies the configuration in use.

use serde_json::Value;
use uci::{Package, Setting};

use crate::secret::shown;

/// Markers of ends of texts and starts of sections. UCI texts cannot contain them.
const END: u8 = 0;
const SECTION: u8 = 1;

/// Returns a digest of a package's `values`, as from `uci get` or [`crate::parse_uci`]. Ignores
/// generated names of anonymous sections and the order of options.
///
/// Secrets are masked before they are hashed. Each user can read the digest and could otherwise
/// verify guesses of a password.
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

/// FNV-1a with 64 bits. Not resistant to deliberate collisions.
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
    fn values_of_rpcd_and_the_file_have_the_same_digest() {
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
    fn each_difference_in_uci_changes_the_digest() {
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
    fn the_digest_does_not_reveal_a_password() {
        let of = |password: &str| {
            of(&format!("config rules 'et'\n option url 'https://ann:{password}@h.example/'\n"))
        };
        assert_eq!(of("geheim"), of("another"));
    }
}
