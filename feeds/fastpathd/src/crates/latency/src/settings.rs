// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `latency` of `/etc/config/fastpath`: options, defaults and ranges.

use config::{Fault, Package, Section, number_in, switch};

/// kbit/s. At 64 kbit/s, a packet of 1500 bytes takes 0.2 s.
const RATES: std::ops::RangeInclusive<u32> = 64..=10_000_000;
/// Bytes, within the limits of tc-cake(8).
const OVERHEADS: std::ops::RangeInclusive<u32> = 0..=256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub enabled: bool,
    /// Interface of `/etc/config/network`; `None` for the first one to the Internet.
    pub interface: Option<String>,
    /// Rate from the Internet in kbit/s; 0 if not set.
    pub download: u32,
    /// Rate to the Internet in kbit/s; 0 if not set.
    pub upload: u32,
    /// Encapsulation overhead of an IP packet in bytes; `None` to compute it from Ethernet, VLAN
    /// and `PPPoE`.
    pub overhead: Option<u32>,
}

impl Settings {
    /// Reads section `latency` from a package, which collects the problems.
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        if let Some(mut section) = package.take_one("latency") {
            settings.enabled = section.value("enabled", switch).unwrap_or_default();
            settings.interface = section.value("interface", config::interface);
            settings.download = rate(&mut section, "download", settings.enabled);
            settings.upload = rate(&mut section, "upload", settings.enabled);
            settings.overhead = section.value("overhead", number_in(OVERHEADS));
            package.close(section);
        }
        settings
    }
}

/// Reads a rate, which is mandatory if `needed`.
fn rate(section: &mut Section<'_>, option: &'static str, needed: bool) -> u32 {
    let given = section.text(option).is_some();
    if !given && needed {
        section.error(option, "", Fault::Missing);
    }
    section.value(option, number_in(RATES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use config::parse_uci;

    use super::*;

    fn read(options: &str) -> Result<Settings, String> {
        let values = parse_uci(&format!("config latency 'latency'\n{options}")).expect(options);
        let mut package = Package::new(&values).expect(options);
        let settings = Settings::read(&mut package);
        package.finish().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn reads_all_options() {
        let settings = read(
            "\toption enabled '1'\n\toption interface 'wan2'\n\toption download '50000'\n\
             \toption upload '10000'\n\toption overhead '34'\n",
        );
        let interface = Some("wan2".to_owned());
        let expected = Settings {
            enabled: true,
            interface,
            download: 50_000,
            upload: 10_000,
            overhead: Some(34),
        };
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn the_default_is_off_and_needs_no_rates() {
        assert_eq!(read(""), Ok(Settings::default()));
        assert!(!Settings::default().enabled);
    }

    #[test]
    fn enabling_needs_both_rates() {
        let error = read("\toption enabled '1'\n\toption download '50000'\n").unwrap_err();
        assert_eq!(error, "section 'latency', option 'upload', value '': is missing");
        let error = read("\toption enabled '1'\n").unwrap_err();
        assert_eq!(error.lines().count(), 2, "{error}");
    }

    #[test]
    fn problems_name_the_option() {
        for bad in [
            "option download '63'",
            "option upload '10000001'",
            "option upload '10M'",
            "option overhead '257'",
            "option interface 'wan 1'",
            "option interface 'sixteen-letters-x'",
            "option enabled 'maybe'",
        ] {
            let option = bad.split(' ').nth(1).expect("a name");
            let error = read(&format!("\t{bad}\n")).unwrap_err();
            assert!(error.contains(&format!("option '{option}'")), "{error}");
        }
    }
}
