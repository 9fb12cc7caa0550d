// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads width and transmit power of access points from the kernel (`linux/nl80211.h`).

use netlink::{Family, attribute, contents, number};

/// `NL80211_CMD_GET_INTERFACE`.
const GET_INTERFACE: u8 = 5;
/// `NL80211_ATTR_IFNAME`.
const IFNAME: u16 = 4;
/// `NL80211_ATTR_WIPHY_TX_POWER_LEVEL`, in hundredths of a dBm.
const TX_POWER: u16 = 98;
/// `NL80211_ATTR_CHANNEL_WIDTH`.
const WIDTH: u16 = 159;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) device: String,
    pub(crate) width_mhz: Option<u32>,
    pub(crate) txpower_dbm: Option<i32>,
}

/// Returns all interfaces; none without a wireless driver.
pub(crate) fn read() -> Vec<Measured> {
    let mut family = Family::open("nl80211").ok();
    let answer = family.as_mut().and_then(|family| family.dump(GET_INTERFACE, &[]).ok());
    contents(&answer.unwrap_or_default()).filter_map(measured).collect()
}

fn measured(content: &[u8]) -> Option<Measured> {
    let name = String::from_utf8_lossy(attribute(content, IFNAME)?);
    let width = attribute(content, WIDTH).and_then(|width| number(width, u32::from_ne_bytes));
    let power = attribute(content, TX_POWER).and_then(|power| number(power, i32::from_ne_bytes));
    Some(Measured {
        device: name.trim_end_matches('\0').to_owned(),
        width_mhz: width.and_then(mhz),
        txpower_dbm: power.map(|power| power.div_euclid(100)),
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
    use netlink::push_attribute;

    use super::*;

    #[test]
    fn decodes_width_and_power() {
        let mut content = Vec::new();
        push_attribute(&mut content, IFNAME, b"phy0-ap0\0");
        let device = "phy0-ap0".to_owned();
        let unknown = Measured { device: device.clone(), width_mhz: None, txpower_dbm: None };
        assert_eq!(measured(&content), Some(unknown));
        push_attribute(&mut content, TX_POWER, &1950_u32.to_ne_bytes());
        push_attribute(&mut content, WIDTH, &3_u32.to_ne_bytes());
        let known = Measured { device, width_mhz: Some(80), txpower_dbm: Some(19) };
        assert_eq!(measured(&content), Some(known));
        assert_eq!([0, 4, 7, 13].map(mhz), [Some(20), Some(160), None, Some(320)]);
    }
}
