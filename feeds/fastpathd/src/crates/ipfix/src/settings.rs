// SPDX-License-Identifier: GPL-2.0-or-later
//! Sections `export` of kind `ipfix` in `/etc/config/fastpath`.

use std::net::SocketAddr;

use config::{Fault, Section, endpoint, interface, label, number, number_in, switch};

use crate::element::REVERSE;

/// IANA's port of IPFIX.
const PORT: u16 = 4739;
/// Default, in seconds.
const ACTIVE_TIMEOUT: u32 = 60;
/// Default, in seconds.
const IDLE_TIMEOUT: u32 = 15;
/// Default in seconds. A new collector cannot decode records before it receives templates.
const TEMPLATE_REFRESH: u32 = 10;
/// Enterprise number for examples (RFC 5612); fastpath has none.
const ENTERPRISE: u32 = 32473;
const TIMEOUTS: std::ops::RangeInclusive<u32> = 1..=3600;
const REFRESHES: std::ops::RangeInclusive<u32> = 1..=86_400;
/// 0 is reserved for IANA.
const ENTERPRISES: std::ops::RangeInclusive<u32> = 1..=u32::MAX;

config::named! {
    #[derive(Default)]
    pub enum Protocol from text {
        #[default]
        Udp = "udp",
        Tcp = "tcp",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Option `name`; defaults to the name of the section.
    pub name: String,
    pub enabled: bool,
    pub protocol: Protocol,
    pub collector: SocketAddr,
    /// Interface of `/etc/config/network` to send over; `None` follows the kernel's route.
    pub interface: Option<String>,
    /// Interval between records of an active flow in seconds.
    pub active_timeout: u32,
    /// Seconds without packets after which a flow is reported as idle.
    pub idle_timeout: u32,
    /// Interval between templates over UDP in seconds.
    pub template_refresh: u32,
    pub domain: u32,
    /// Enterprise number of fastpath's own elements.
    pub enterprise: u32,
}

impl Settings {
    /// Parses a section, which collects the problems of its options.
    #[must_use]
    pub fn of(section: &mut Section<'_>) -> Self {
        let name = section.value("name", label);
        let seconds = |section: &mut Section<'_>, option, range, default| {
            section.value(option, number_in(range)).unwrap_or(default)
        };
        Self {
            name: name.unwrap_or_else(|| section.label().to_owned()),
            enabled: section.value("enabled", switch).unwrap_or(true),
            protocol: section.value("protocol", str::parse).unwrap_or_default(),
            collector: endpoint(section, PORT),
            interface: section.value("interface", interface),
            active_timeout: seconds(section, "active_timeout", TIMEOUTS, ACTIVE_TIMEOUT),
            idle_timeout: seconds(section, "idle_timeout", TIMEOUTS, IDLE_TIMEOUT),
            template_refresh: seconds(section, "template_refresh", REFRESHES, TEMPLATE_REFRESH),
            domain: section.value("domain", number).unwrap_or_default(),
            enterprise: section.value("enterprise", enterprise_of).unwrap_or(ENTERPRISE),
        }
    }
}

/// Parses an enterprise number. Rejects the number of reverse elements, under which fastpath's
/// elements would be reverse IANA elements.
fn enterprise_of(text: &str) -> Result<u32, Fault> {
    match number_in(ENTERPRISES)(text)? {
        REVERSE => Err(Fault::ReverseEnterprise),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use config::{Package, parse_uci};

    use super::*;

    fn read(text: &str) -> Result<Vec<Settings>, String> {
        let values = parse_uci(text).expect(text);
        let mut package = Package::new(&values).expect(text);
        let mut settings = Vec::new();
        for mut section in package.take("export") {
            settings.push(Settings::of(&mut section));
            section.refuse_left_over();
            package.close(section);
        }
        package.finish().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn only_the_address_is_required() {
        let found = read("config export 'collector'\n\toption host '192.0.2.10'\n");
        let expected = Settings {
            name: "collector".to_owned(),
            enabled: true,
            protocol: Protocol::Udp,
            collector: "192.0.2.10:4739".parse().expect("an address"),
            interface: None,
            active_timeout: 60,
            idle_timeout: 15,
            template_refresh: 10,
            domain: 0,
            enterprise: 32473,
        };
        assert_eq!(found, Ok(vec![expected]));
    }

    #[test]
    fn reads_every_option() {
        let found = read(
            "config export\n\toption name 'flow store'\n\toption enabled '0'\n\
             \toption protocol 'tcp'\n\toption host '2001:db8::10'\n\toption port '2055'\n\
             \toption active_timeout '300'\n\toption idle_timeout '30'\n\
             \toption template_refresh '60'\n\toption domain '4294967295'\n\
             \toption enterprise '64512'\n",
        );
        let expected = Settings {
            name: "flow store".to_owned(),
            enabled: false,
            protocol: Protocol::Tcp,
            collector: "[2001:db8::10]:2055".parse().expect("an address"),
            interface: None,
            active_timeout: 300,
            idle_timeout: 30,
            template_refresh: 60,
            domain: u32::MAX,
            enterprise: 64512,
        };
        assert_eq!(found, Ok(vec![expected]));
    }

    #[test]
    fn names_the_option_of_an_invalid_value() {
        for (line, text) in [
            ("option host 'collector.example'", "is not an address of a host; names are not"),
            ("option host '224.0.0.1'", "is not an address of a host"),
            ("option host '0.0.0.0'", "is not an address of a host"),
            ("option port '0'", "is not a number from 1 to 65535"),
            ("option port '65536'", "is not a number from 1 to 65535"),
            ("option protocol 'sctp'", "is not one of udp, tcp"),
            ("option active_timeout '0'", "is not a number from 1 to 3600"),
            ("option idle_timeout '3601'", "is not a number from 1 to 3600"),
            ("option template_refresh '0'", "is not a number from 1 to 86400"),
            ("option domain '4294967296'", "is too large"),
            ("option enterprise '0'", "is not a number from 1 to 4294967295"),
            ("option enterprise '4294967296'", "is not a number from 1 to 4294967295"),
            ("option enterprise '29305'", "is the enterprise number of reverse elements"),
            ("option hots '192.0.2.1'", "is not an option of this section"),
        ] {
            let file = format!("config export 'store'\n\toption host '192.0.2.10'\n\t{line}\n");
            let error = read(&file).unwrap_err();
            let option = line.split(' ').nth(1).expect("a name");
            let named = format!("section 'store', option '{option}', value ");
            assert!(error.contains(&named) && error.contains(text), "{error}");
        }
        let error = read("config export 'store'\n").unwrap_err();
        assert_eq!(error, "section 'store', option 'host', value '': is missing");
    }
}
