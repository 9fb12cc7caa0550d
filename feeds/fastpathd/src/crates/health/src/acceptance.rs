// SPDX-License-Identifier: GPL-2.0-or-later
//! Accepted findings: sections `accepted` of `/etc/config/fastpath`.

use std::collections::BTreeSet;

use config::{Fault, Package, Section};

use crate::Severity;

const MAX_LEN: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub section: String,
    code: String,
    severity: Severity,
    about: BTreeSet<String>,
}

impl Acceptance {
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Vec<Self> {
        let mut found = Vec::new();
        for mut section in package.take("accepted") {
            found.extend(Self::of(&mut section));
            package.close(section);
        }
        found
    }

    fn of(section: &mut Section<'_>) -> Option<Self> {
        if section.text("check").is_none() {
            section.error("check", "", Fault::Missing);
        }
        let code = section.value("check", plain)?;
        let severity = section.value("severity", str::parse).unwrap_or(Severity::Error);
        let mut about = BTreeSet::new();
        for text in section.list("about") {
            match plain(text) {
                Ok(object) => drop(about.insert(object)),
                Err(fault) => section.error("about", text, fault),
            }
        }
        Some(Self { section: section.name().to_owned(), code, severity, about })
    }

    /// Returns whether this section accepts a finding: same code, severity not above the accepted
    /// one, and no other object.
    #[must_use]
    pub fn covers(&self, code: &str, severity: Severity, about: &[String]) -> bool {
        self.code == code
            && severity <= self.severity
            && about.iter().all(|object| self.about.contains(object))
    }
}

/// Reduces `text` to a valid object: one line of limited length.
#[must_use]
pub fn object(text: &str) -> String {
    let mut plain: String = text.chars().filter(|c| !c.is_control()).collect();
    while plain.len() > MAX_LEN {
        plain.pop();
    }
    plain
}

fn plain(text: &str) -> Result<String, Fault> {
    if text.len() > MAX_LEN {
        return Err(Fault::TooLong { longest: MAX_LEN });
    }
    match text.chars().find(|c| c.is_control()) {
        Some(bad) => Err(Fault::NameCharacter { character: format!("{bad:?}") }),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use config::parse_uci;

    use super::*;

    fn read(options: &str) -> Result<Vec<Acceptance>, String> {
        let values = parse_uci(&format!("config accepted\n{options}")).expect(options);
        let mut package = Package::new(&values).expect(options);
        let read = Acceptance::read(&mut package);
        let warnings = package.finish().map_err(|error| error.to_string())?;
        assert!(warnings.is_empty(), "{warnings:?}");
        Ok(read)
    }

    fn objects(list: &[&str]) -> Vec<String> {
        list.iter().map(|&object| object.to_owned()).collect()
    }

    #[test]
    fn an_acceptance_covers_only_its_finding() {
        let read = read(
            "\toption check 'gro-off'\n\toption severity 'warning'\n\
             \tlist about 'lan1: rx-gro'\n\tlist about 'lan2: rx-gro'\n",
        );
        let [one] = &read.unwrap()[..] else { panic!("one section") };
        let both = objects(&["lan1: rx-gro", "lan2: rx-gro"]);
        assert!(one.covers("gro-off", Severity::Warning, &both));
        assert!(
            one.covers("gro-off", Severity::Advice, &both[..1]),
            "fewer objects, lower severity"
        );
        assert!(!one.covers("gro-off", Severity::Error, &both), "higher severity");
        assert!(
            !one.covers("gro-off", Severity::Warning, &objects(&["lan3: rx-gro"])),
            "another object"
        );
        assert!(!one.covers("lro-on", Severity::Warning, &both), "another check");
        assert!(!one.covers("gro-off/step", Severity::Warning, &both), "another case of the check");
    }

    #[test]
    fn an_acceptance_without_objects_covers_only_findings_without_objects() {
        let read = read("\toption check 'system-root'\n").unwrap();
        assert!(read[0].covers("system-root", Severity::Error, &[]));
        assert!(!read[0].covers("system-root", Severity::Info, &objects(&["/"])));
    }

    #[test]
    fn reports_the_option_of_an_invalid_value() {
        let long = "x".repeat(MAX_LEN + 1);
        for (options, option) in [
            ("\toption severity 'warning'\n".to_owned(), "check"),
            ("\toption check 'a'\n\toption severity 'bad'\n".to_owned(), "severity"),
            (format!("\toption check 'a'\n\tlist about '{long}'\n"), "about"),
        ] {
            let error = read(&options).unwrap_err();
            assert!(error.contains(&format!("option '{option}'")), "{error}");
        }
    }

    #[test]
    fn reduces_any_object_to_a_valid_one() {
        let long = format!("a\n\u{7}{}", "ä".repeat(MAX_LEN));
        let named = object(&long);
        assert!(named.starts_with("aä") && named.len() <= MAX_LEN, "{named}");
        assert_eq!(plain(&named), Ok(named.clone()));
    }
}
