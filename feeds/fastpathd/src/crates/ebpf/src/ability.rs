// SPDX-License-Identifier: GPL-2.0-or-later
//! What a device's driver can do with XDP, as the kernel says since 6.3.

use std::io;

use rustix::net::netlink::GENERIC;

use crate::netlink::{ask, attribute, find};

const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

const DEV_GET: u8 = 1;
const IFINDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;

/// Bits of the features (include/uapi/linux/netdev.h).
const BASIC: u64 = 1;
const REDIRECT: u64 = 2;
const NDO_XMIT: u64 = 4;

/// What a driver can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ability {
    /// Run programs, and send what they redirect elsewhere on its way.
    pub redirects: bool,
    /// Send what was redirected to it. Some can only while they have a program of their own.
    pub sends: bool,
}

impl Ability {
    fn from_features(features: u64) -> Self {
        let all = |bits| features & bits == bits;
        Self { redirects: all(BASIC | REDIRECT), sends: all(NDO_XMIT) }
    }
}

/// Asks the kernel; none where it cannot tell, as before 6.3.
///
/// # Errors
///
/// The kernel's, such as for a device that is gone.
pub fn ability(ifindex: u32) -> io::Result<Option<Ability>> {
    let Some(family) = family()? else { return Ok(None) };
    let mut request = vec![DEV_GET, 1, 0, 0];
    request.extend(attribute(IFINDEX, &ifindex.to_ne_bytes()));
    let answer = ask(Some(GENERIC), family, 0, &request)?;
    let features = answer.iter().find_map(|message| {
        let value = find(message.payload.get(4..)?, XDP_FEATURES)?;
        Some(u64::from_ne_bytes(value.try_into().ok()?))
    });
    Ok(features.map(Ability::from_features))
}

/// The number of the family `netdev`.
fn family() -> io::Result<Option<u16>> {
    let mut request = vec![GET_FAMILY, 1, 0, 0];
    request.extend(attribute(FAMILY_NAME, b"netdev\0"));
    match ask(Some(GENERIC), CONTROL, 0, &request) {
        Ok(answer) => Ok(answer.iter().find_map(|message| {
            let value = find(message.payload.get(4..)?, FAMILY_ID)?;
            Some(u16::from_ne_bytes(value.try_into().ok()?))
        })),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_by_bits() {
        let none = Ability::default();
        assert_eq!(Ability::from_features(0), none);
        assert_eq!(Ability::from_features(BASIC), none);
        assert_eq!(Ability::from_features(7), Ability { redirects: true, sends: true });
        assert_eq!(Ability::from_features(0x23), Ability { redirects: true, sends: false });
    }

    #[test]
    fn the_kernel_answers_for_the_loopback_device() {
        // It has no XDP of its own; a kernel before 6.3 says nothing.
        assert!(matches!(ability(1), Ok(None | Some(Ability { redirects: false, sends: false }))));
        assert!(matches!(ability(0x7fff_ffff), Err(_) | Ok(None)));
    }
}
