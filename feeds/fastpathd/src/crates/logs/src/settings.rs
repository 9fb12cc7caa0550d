// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections `export` of kinds `syslog` and `redis` in `/etc/config/fastpath`: options, defaults,
//! limits.

use std::fmt;
use std::net::SocketAddr;

use config::{Fault, Section, endpoint, interface, label, switch};
use ips::EventKind;

use crate::redis::{Keeping, Redis};

/// Where collectors of syslog listen over TCP, too.
const SYSLOG_PORT: u16 = 514;
/// Port of Redis.
const REDIS_PORT: u16 = 6379;
/// The name that Suricata's own output for Redis uses.
const KEY: &str = "suricata";
/// Bytes of a user's name or password.
const LONGEST: usize = 512;

/// A section: a collector and the events it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Option `name`, else the name of the section.
    pub name: String,
    /// It is used.
    pub enabled: bool,
    /// The collector.
    pub collector: SocketAddr,
    /// The interface of `/etc/config/network` to send over; `None` for the kernel's route.
    pub interface: Option<String>,
    /// Types of events, without repetition.
    pub events: Vec<EventKind>,
    /// Its protocol.
    pub receiver: Receiver,
}

/// Protocol of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// Messages of RFC 5424.
    Syslog,
    /// Commands of Redis.
    Redis(Redis),
}

/// A password, which no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub(crate) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(config::secret::MASK)
    }
}

impl Settings {
    /// Reads a section of kind `syslog`, which notes the problems of its options.
    #[must_use]
    pub fn syslog(section: &mut Section<'_>) -> Self {
        Self::of(section, SYSLOG_PORT, Receiver::Syslog)
    }

    /// Reads a section of kind `redis`, which notes the problems of its options.
    #[must_use]
    pub fn redis(section: &mut Section<'_>) -> Self {
        let redis = redis(section);
        Self::of(section, REDIS_PORT, Receiver::Redis(redis))
    }

    fn of(section: &mut Section<'_>, port: u16, receiver: Receiver) -> Self {
        let name = section.value("name", label);
        Self {
            name: name.unwrap_or_else(|| section.label().to_owned()),
            enabled: section.value("enabled", switch).unwrap_or(true),
            collector: endpoint(section, port),
            interface: section.value("interface", interface),
            events: events(section),
            receiver,
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

fn redis(section: &mut Section<'_>) -> Redis {
    let username = section.value("username", credential);
    let password = section.value("password", credential).map(Password);
    if username.is_some() && password.is_none() && section.is_good() {
        section.error("password", "", Fault::Missing);
    }
    Redis {
        key: section.value("redis_key", label).unwrap_or_else(|| KEY.to_owned()),
        keeping: section.value("redis_type", str::parse::<Keeping>).unwrap_or_default(),
        username,
        password,
    }
}

fn credential(text: &str) -> Result<String, Fault> {
    if text.len() > LONGEST { Err(Fault::TooLong { longest: LONGEST }) } else { Ok(text.into()) }
}

#[cfg(test)]
mod tests {
    use config::{Package, parse_uci};

    use super::*;

    fn read(options: &str, of: impl Fn(&mut Section<'_>) -> Settings) -> Result<Settings, String> {
        let text = format!("config export 'soc'\n\toption host '192.0.2.10'\n{options}");
        let values = parse_uci(&text).expect("a file");
        let mut package = Package::new(&values).expect("a package");
        let mut section = package.take("export").pop().expect("a section");
        let settings = of(&mut section);
        section.refuse_left_over();
        package.close(section);
        package.finish().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn an_address_is_enough() {
        let expected = Settings {
            name: "soc".to_owned(),
            enabled: true,
            collector: "192.0.2.10:514".parse().expect("an address"),
            interface: None,
            events: vec![EventKind::Alert],
            receiver: Receiver::Syslog,
        };
        assert_eq!(read("", Settings::syslog), Ok(expected.clone()));
        let redis = Redis {
            key: "suricata".to_owned(),
            keeping: Keeping::List,
            username: None,
            password: None,
        };
        let expected = Settings {
            collector: "192.0.2.10:6379".parse().expect("an address"),
            interface: None,
            receiver: Receiver::Redis(redis),
            ..expected
        };
        assert_eq!(read("", Settings::redis), Ok(expected));
    }

    #[test]
    fn everything_can_be_said() {
        let options = "\toption name 'alert store'\n\toption enabled '0'\n\toption port '1514'\n\
             \tlist event 'alert'\n\tlist event 'flow'\n\toption username 'gw'\n\
             \toption password 'geheim'\n\toption redis_key 'eve'\n\toption redis_type 'channel'\n";
        let found = read(options, Settings::redis).expect(options);
        assert!(!format!("{found:?}").contains("geheim"), "{found:?}");
        let expected = Settings {
            name: "alert store".to_owned(),
            enabled: false,
            collector: "192.0.2.10:1514".parse().expect("an address"),
            interface: None,
            events: vec![EventKind::Alert, EventKind::Flow],
            receiver: Receiver::Redis(Redis {
                key: "eve".to_owned(),
                keeping: Keeping::Channel,
                username: Some("gw".to_owned()),
                password: Some(Password("geheim".to_owned())),
            }),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn values_that_cannot_be_used_are_named() {
        let long = format!("option password '{}'", "x".repeat(LONGEST + 1));
        for (line, text) in [
            ("option port '0'", "is not a number from 1 to 65535"),
            ("list event 'http'", "is not one of alert, drop, tls, quic, flow, stats"),
            ("option event 'alert alert'", "is there twice"),
            ("option redis_type 'stream'", "is not one of list, channel"),
            ("option redis_key 'a\"b'", "is not allowed in a name"),
            ("option template_refresh '10'", "is not an option of this section"),
            ("option protocol 'udp'", "is not an option of this section"),
            (&long, "is longer than 512 bytes"),
        ] {
            let error = read(&format!("\t{line}\n"), Settings::redis).unwrap_err();
            let option = line.split(' ').nth(1).expect("a name");
            let named = format!("section 'soc', option '{option}', value ");
            assert!(error.contains(&named) && error.contains(text), "{error}");
            assert!(!error.contains("xxx"), "{error}");
        }
        let error = read("\toption username 'gw'\n", Settings::redis).unwrap_err();
        assert_eq!(error, "section 'soc', option 'password', value '': is missing");
        for line in ["redis_key 'eve'", "redis_type 'list'", "password 'geheim'"] {
            let error = read(&format!("\toption {line}\n"), Settings::syslog).unwrap_err();
            assert!(error.ends_with("is not an option of this section"), "{error}");
        }
    }
}
