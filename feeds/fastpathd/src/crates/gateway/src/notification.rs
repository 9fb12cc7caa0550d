// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks sections `notification`, which package fastpath-notify uses. A bad section is ignored,
//! because the daemon does not need it. A misspelt option makes a section bad, because the owner
//! would not be told.

use std::collections::BTreeSet;

use config::{Fault, Package, Section, switch};

pub(crate) const TYPE: &str = "notification";
const MAX_SECTIONS: usize = 8;
const MAX_MAIL_LEN: usize = 254;
const MAX_TOKEN_LEN: usize = 1000;
const FORMATS: [&str; 3] = ["json", "ntfy", "matrix"];
const EVENTS: [&str; 5] = ["device", "quota", "line", "update", "alert"];

pub(crate) fn check(package: &mut Package<'_>) {
    let mut names = BTreeSet::new();
    for (place, mut section) in package.take(TYPE).into_iter().enumerate() {
        if place == MAX_SECTIONS {
            section.error("", "", Fault::TooManySections { most: MAX_SECTIONS });
        }
        let name = section.text("name").unwrap_or(section.label()).to_owned();
        if !rules::is_source_name(&name) {
            section.error("name", &name, Fault::SourceName);
        } else if !names.insert(name.clone()) {
            section.error("name", &name, Fault::Duplicate);
        }
        check_section(&mut section);
        section.refuse_left_over();
        section.leave_out_if_bad();
        package.close(section);
    }
}

fn check_section(section: &mut Section<'_>) {
    section.value("enabled", switch);
    section.value("format", |text| named(text, &FORMATS));
    for event in section.list("event") {
        if let Err(fault) = named(event, &EVENTS) {
            section.error("event", event, fault);
        }
    }
    section.value("token", |text| line(text, MAX_TOKEN_LEN));
    section.value("ca", |text| if text.starts_with('/') { Ok(()) } else { Err(Fault::NotFile) });
    section.value("url", url);
    section.value("mail", mail);
    if section.text("url").is_some() == section.text("mail").is_some() {
        section.error("url", "", Fault::UrlOrMail);
    }
}

fn named(text: &str, names: &[&str]) -> Result<(), Fault> {
    if names.contains(&text) { Ok(()) } else { Err(Fault::not_listed(names)) }
}

/// Refuses quotes and backslashes, too, because the value becomes a line of curl's configuration.
fn line(text: &str, longest: usize) -> Result<(), Fault> {
    if text.len() > longest {
        return Err(Fault::TooLong { longest });
    }
    let is_good = |c: &char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    match text.chars().find(|c| !is_good(c)) {
        Some(bad) => Err(Fault::NameCharacter { character: format!("{bad:?}") }),
        None => Ok(()),
    }
}

fn url(text: &str) -> Result<(), Fault> {
    rules::check_url(text)?;
    line(text, usize::MAX).map_err(|_| Fault::UrlCharacters)
}

fn mail(text: &str) -> Result<(), Fault> {
    line(text, MAX_MAIL_LEN)?;
    let parts = text.split_once('@').filter(|(user, host)| !user.is_empty() && !host.is_empty());
    if parts.is_none() || text.starts_with('-') || text.contains([',', ';', '<', '>', '(', ')']) {
        return Err(Fault::NotMail);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(options: &serde_json::Value) -> Vec<String> {
        let mut section = json!({".type": "notification", ".index": 0, ".name": "phone"});
        let all = section.as_object_mut().unwrap();
        all.extend(options.as_object().unwrap().clone());
        let values = json!({"phone": section});
        let mut package = Package::new(&values).unwrap();
        check(&mut package);
        let problems = package.finish().unwrap();
        problems.iter().map(|one| format!("{} {}", one.option, one.fault.code())).collect()
    }

    #[test]
    fn a_receiver_has_an_url_or_an_address() {
        let url = "https://user@ntfy.example:8443/topic?x=1";
        assert_eq!(
            faults(&json!({"url": url, "token": "tk_1", "event": ["device", "alert"]})),
            [""; 0]
        );
        assert_eq!(faults(&json!({"mail": "a@b.example", "enabled": "0", "name": "me"})), [""; 0]);
        assert_eq!(faults(&json!({})), ["url url-or-mail"]);
        assert_eq!(faults(&json!({"url": url, "mail": "a@b"})), ["url url-or-mail"]);
    }

    #[test]
    fn values_that_could_be_options_of_a_program_are_refused() {
        for (option, value, code) in [
            ("url", "ftp://x/", "url-scheme"),
            ("url", "https:///x", "url-host"),
            ("url", "https://x/\nouput=y", "url-characters"),
            ("url", "https://x/\"y", "url-characters"),
            ("url", "https://x/\\y", "url-characters"),
            ("mail", "-oQ/tmp@x", "not-mail"),
            ("mail", "a@b,c@d", "not-mail"),
            ("mail", "a@b\nBcc:c@d", "name-character"),
            ("mail", "@b", "not-mail"),
        ] {
            assert_eq!(faults(&json!({option: value})), [format!("{option} {code}")], "{value}");
        }
        for (option, value, code) in [
            ("token", "a\nb", "name-character"),
            ("token", "a b", "name-character"),
            ("ca", "ca.pem", "not-a-file"),
            ("format", "xml", "not-listed"),
            ("event", "all", "not-listed"),
            ("name", "../x", "source-name"),
            ("urls", "x", "not-an-option"),
        ] {
            let options = json!({"url": "https://x/", option: value});
            assert_eq!(faults(&options), [format!("{option} {code}")], "{value}");
        }
    }

    /// A router boots with its engine, exporters and pauses.
    #[test]
    fn a_bad_receiver_is_ignored_and_reported() {
        let mut core = crate::fixture::core();
        let values = json!({
            "main": {".type": "fastpath", ".name": "main", "engine": "off"},
            "phone": {".type": "notification", ".name": "phone", "token": "geheim"},
        });
        core.configuration_read(&values);
        assert_eq!(core.configuration().error(), "");
        let report = crate::configuration::FileReport::of(&values);
        let problems = serde_json::to_value(&report.problems).unwrap();
        assert_eq!(problems[0]["section"], "phone");
        assert_eq!(problems[0]["code"], "url-or-mail");
        assert_eq!(report.problems.len(), 1);
        assert!(!problems.to_string().contains("geheim"));
    }
}
