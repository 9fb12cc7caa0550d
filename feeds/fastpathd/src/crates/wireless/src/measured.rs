// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads width and transmit power of access points from the kernel (`linux/nl80211.h`), and the
//! limit of the power on their channel.

use netlink::{Family, attribute, attributes, contents, number, push_attribute};

/// `NL80211_CMD_GET_WIPHY`.
const GET_RADIO: u8 = 1;
/// `NL80211_CMD_GET_INTERFACE`.
const GET_INTERFACE: u8 = 5;
/// `NL80211_ATTR_WIPHY`.
const RADIO: u16 = 1;
/// `NL80211_ATTR_IFNAME`.
const IFNAME: u16 = 4;
/// `NL80211_ATTR_WIPHY_BANDS`.
const BANDS: u16 = 22;
/// `NL80211_ATTR_WIPHY_FREQ`: the control channel in MHz.
const FREQUENCY: u16 = 38;
/// `NL80211_ATTR_WIPHY_TX_POWER_LEVEL`, in hundredths of a dBm.
const TX_POWER: u16 = 98;
/// `NL80211_ATTR_CHANNEL_WIDTH`.
const WIDTH: u16 = 159;
/// `NL80211_ATTR_SPLIT_WIPHY_DUMP`. Without it, the kernel omits bands that exceed a message.
const SPLIT: u16 = 174;
/// `NL80211_BAND_ATTR_FREQS`.
const CHANNELS: u16 = 1;
/// `NL80211_FREQUENCY_ATTR_FREQ`.
const CHANNEL_FREQUENCY: u16 = 1;
/// `NL80211_FREQUENCY_ATTR_MAX_TX_POWER` by the driver and the country, in hundredths of a dBm.
const MAX_POWER: u16 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) device: String,
    pub(crate) width_mhz: Option<u32>,
    pub(crate) txpower_dbm: Option<i32>,
    pub(crate) txpower_max_dbm: Option<i32>,
}

/// Returns all interfaces; none without a wireless driver.
pub(crate) fn read() -> Vec<Measured> {
    let Ok(mut family) = Family::open("nl80211") else { return Vec::new() };
    let answer = family.dump(GET_INTERFACE, &[]).unwrap_or_default();
    let mut all = Vec::new();
    for content in contents(&answer) {
        if let Some(measured) = measured(content) {
            all.push(Measured { txpower_max_dbm: limit(&mut family, content), ..measured });
        }
    }
    all
}

/// Returns the maximum transmit power on the interface's channel.
fn limit(family: &mut Family, content: &[u8]) -> Option<i32> {
    let frequency = attribute(content, FREQUENCY)?;
    let mut of = Vec::new();
    push_attribute(&mut of, RADIO, attribute(content, RADIO)?);
    push_attribute(&mut of, SPLIT, &[]);
    let answer = family.dump(GET_RADIO, &of).ok()?;
    contents(&answer).find_map(|part| max_power(part, frequency))
}

/// Decodes a part of a radio's answer.
fn max_power(content: &[u8], frequency: &[u8]) -> Option<i32> {
    let bands = attributes(attribute(content, BANDS)?);
    let channels = bands.filter_map(|(_, band)| attribute(band, CHANNELS)).flat_map(attributes);
    let is_named = |channel: &&[u8]| attribute(channel, CHANNEL_FREQUENCY) == Some(frequency);
    let channel = channels.map(|(_, channel)| channel).find(is_named)?;
    attribute(channel, MAX_POWER).and_then(dbm)
}

fn dbm(power: &[u8]) -> Option<i32> {
    number(power, i32::from_ne_bytes).map(|power| power.div_euclid(100))
}

fn measured(content: &[u8]) -> Option<Measured> {
    let name = String::from_utf8_lossy(attribute(content, IFNAME)?);
    let width = attribute(content, WIDTH).and_then(|width| number(width, u32::from_ne_bytes));
    Some(Measured {
        device: name.trim_end_matches('\0').to_owned(),
        width_mhz: width.and_then(mhz),
        txpower_dbm: attribute(content, TX_POWER).and_then(dbm),
        txpower_max_dbm: None,
    })
}

/// Converts `enum nl80211_chan_width`. Other widths are narrower than 20 MHz.
fn mhz(width: u32) -> Option<u32> {
    Some(match width {
        0 | 1 => 20,
        2 => 40,
        3 => 80,
        // 80+80 MHz counts as 160 MHz.
        4 | 5 => 160,
        13 => 320,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use netlink::push_nested;

    use super::*;

    #[test]
    fn decodes_width_and_power() {
        let mut content = Vec::new();
        push_attribute(&mut content, IFNAME, b"phy0-ap0\0");
        let known = |width_mhz, txpower_dbm| {
            let device = "phy0-ap0".to_owned();
            Some(Measured { device, width_mhz, txpower_dbm, txpower_max_dbm: None })
        };
        assert_eq!(measured(&content), known(None, None));
        push_attribute(&mut content, TX_POWER, &1950_u32.to_ne_bytes());
        push_attribute(&mut content, WIDTH, &3_u32.to_ne_bytes());
        assert_eq!(measured(&content), known(Some(80), Some(19)));
        assert_eq!([0, 4, 7, 13].map(mhz), [Some(20), Some(160), None, Some(320)]);
    }

    #[test]
    fn decodes_the_limit_of_the_channel() {
        let mut content = Vec::new();
        push_nested(&mut content, BANDS, |bands| {
            push_nested(bands, 0, |band| {
                push_nested(band, CHANNELS, |channels| {
                    for (index, mhz, power) in [(0, 2412_u32, 2000_u32), (1, 2484, 1250)] {
                        push_nested(channels, index, |channel| {
                            push_attribute(channel, CHANNEL_FREQUENCY, &mhz.to_ne_bytes());
                            push_attribute(channel, MAX_POWER, &power.to_ne_bytes());
                        });
                    }
                });
            });
        });
        let limit = |mhz: u32| max_power(&content, &mhz.to_ne_bytes());
        assert_eq!([2412, 2484, 5180].map(limit), [Some(20), Some(12), None]);
        assert_eq!(max_power(&[], &2412_u32.to_ne_bytes()), None);
    }
}
