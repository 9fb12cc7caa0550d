// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections `export` of kind `syslog` in `/etc/config/fastpath`.

use std::net::SocketAddr;

use config::{Fault, Section, endpoint, interface, label, switch};
use ips::EventKind;

/// Default port of syslog, also used over TCP.
const PORT: u16 = 514;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Option `name`; defaults to the name of the section.
    pub name: String,
    pub enabled: bool,
    pub collector: SocketAddr,
    /// Interface of `/etc/config/network` to send over; `None` follows the kernel's route.
    pub interface: Option<String>,
    /// Types of exported events, without duplicates.
    pub events: Vec<EventKind>,
}

impl Settings {
    /// Parses a section, which collects the problems of its options.
    #[must_use]
    pub fn of(section: &mut Section<'_>) -> Self {
        let name = section.value("name", label);
        Self {
            name: name.unwrap_or_else(|| section.label().to_owned()),
            enabled: section.value("enabled", switch).unwrap_or(true),
            collector: endpoint(section, PORT),
            interface: section.value("interface", interface),
            events: events(section),
        }
    }
}

fn events(section: &mut Section<'_>) -> Vec<EventKind> {
    let mut events = Vec::new();
    for text in section.list("event") {
        match text.parse::<EventKind>() {
            Ok(kind) if events.contains(&kind) => {
                section.error("event", text, Fault::Duplicate);
            }
            Ok(kind) => events.push(kind),
            Err(fault) => section.error("event", text, fault),
        }
    }
    if events.is_empty() { vec![EventKind::Alert] } else { events }
}

#[cfg(test)]
mod tests {
    use config::{Package, parse_uci};

    use super::*;

    fn read(options: &str) -> Result<Settings, String> {
        let text = format!("config export 'soc'\n\toption host '192.0.2.10'\n{options}");
        let values = parse_uci(&text).expect("a file");
        let mut package = Package::new(&values).expect("a package");
        let mut section = package.take("export").pop().expect("a section");
        let settings = Settings::of(&mut section);
        section.refuse_left_over();
        package.close(section);
        package.finish().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn only_the_address_is_required() {
        let expected = Settings {
            name: "soc".to_owned(),
            enabled: true,
            collector: "192.0.2.10:514".parse().expect("an address"),
            interface: None,
            events: vec![EventKind::Alert],
        };
        assert_eq!(read(""), Ok(expected));
    }

    #[test]
    fn reads_every_option() {
        let options = "\toption name 'alert store'\n\toption enabled '0'\n\toption port '1514'\n\
             \toption interface 'vpn'\n\tlist event 'alert'\n\tlist event 'flow'\n";
        let expected = Settings {
            name: "alert store".to_owned(),
            enabled: false,
            collector: "192.0.2.10:1514".parse().expect("an address"),
            interface: Some("vpn".to_owned()),
            events: vec![EventKind::Alert, EventKind::Flow],
        };
        assert_eq!(read(options), Ok(expected));
    }

    #[test]
    fn names_the_option_of_an_invalid_value() {
        for (line, text) in [
            ("option port '0'", "is not a number from 1 to 65535"),
            ("list event 'http'", "is not one of alert, drop, tls, quic, flow, stats"),
            ("option event 'alert alert'", "is there twice"),
            ("option template_refresh '10'", "is not an option of this section"),
            ("option protocol 'udp'", "is not an option of this section"),
            ("option redis_key 'eve'", "is not an option of this section"),
            ("option password 'geheim'", "is not an option of this section"),
        ] {
            let error = read(&format!("\t{line}\n")).unwrap_err();
            let option = line.split(' ').nth(1).expect("a name");
            let named = format!("section 'soc', option '{option}', value ");
            assert!(error.contains(&named) && error.contains(text), "{error}");
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
