// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the XDP features of a driver, which Linux reports since 6.3.

use std::io;

use netlink::{Family, RequestError, attribute, contents, push_attribute};

const DEV_GET: u8 = 1;
const IFINDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;

// Bits of `NETDEV_A_DEV_XDP_FEATURES` (include/uapi/linux/netdev.h).
const BASIC: u64 = 1;
const REDIRECT: u64 = 2;
const NDO_XMIT: u64 = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ability {
    /// The driver runs XDP programs and can redirect packets to other devices.
    pub redirects: bool,
    /// The driver sends packets redirected to it. Some drivers do so only while a program is
    /// attached.
    pub sends: bool,
}

impl Ability {
    fn from_features(features: u64) -> Self {
        let all = |bits| features & bits == bits;
        Self { redirects: all(BASIC | REDIRECT), sends: all(NDO_XMIT) }
    }
}

/// Returns the capabilities of a device's driver, or `None` before Linux 6.3.
pub fn ability(ifindex: u32) -> io::Result<Option<Ability>> {
    let mut family = match Family::open("netdev") {
        Err(RequestError::NoFamily(_)) => return Ok(None),
        family => family?,
    };
    let mut device = Vec::new();
    push_attribute(&mut device, IFINDEX, &ifindex.to_ne_bytes());
    let answer = family.request(DEV_GET, &device)?;
    let features =
        contents(&answer).find_map(|content| attribute(content, XDP_FEATURES)?.try_into().ok());
    Ok(features.map(u64::from_ne_bytes).map(Ability::from_features))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_feature_bits() {
        let none = Ability::default();
        assert_eq!(Ability::from_features(0), none);
        assert_eq!(Ability::from_features(BASIC), none);
        assert_eq!(Ability::from_features(7), Ability { redirects: true, sends: true });
        assert_eq!(Ability::from_features(0x23), Ability { redirects: true, sends: false });
    }

    #[test]
    fn reads_the_abilities_of_the_loopback_device() {
        // The loopback driver has no native XDP.
        assert!(matches!(ability(1), Ok(None | Some(Ability { redirects: false, sends: false }))));
        assert!(matches!(ability(0x7fff_ffff), Err(_) | Ok(None)));
    }
}
