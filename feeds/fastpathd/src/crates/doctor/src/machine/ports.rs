// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads offloads, rings and queues of a port, and switches offloads, over ethtool's netlink family
//! (Linux 5.10).

use config::sort::Collect;
use std::collections::BTreeSet;
use std::io;

use netlink::{Family, attribute, attributes, contents, number, push_attribute, push_nested};
use thiserror::Error;

use super::{Channels, Ethtool, Feature, Rings};

// Commands of the kernel's `ethtool_netlink.h`.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const RINGS_GET: u8 = 15;
const CHANNELS_GET: u8 = 17;

// The header of a request, and its attribute.
const HEADER: u16 = 1;
const DEV_NAME: u16 = 2;

// `ETHTOOL_A_FEATURES_*`.
const HW: u16 = 2;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;
const NOCHANGE: u16 = 5;

// `ETHTOOL_A_BITSET_*`, `ETHTOOL_A_BITSET_BITS_BIT` and its attributes.
const NOMASK: u16 = 1;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

#[derive(Debug, Error)]
pub(super) enum PortError {
    #[error("resolving ethtool's netlink family: {0}")]
    Family(#[source] io::Error),
    #[error("reading the offloads of {0}: {1}")]
    Read(String, #[source] io::Error),
    #[error("turning {feature} of {device} {}: {error}", if *on { "on" } else { "off" })]
    Set { device: String, feature: String, on: bool, error: io::Error },
    #[error("the driver of {device} did not turn {feature} {}", if *on { "on" } else { "off" })]
    Ignored { device: String, feature: String, on: bool },
}

/// Reads a port. Rings and queues are `None` if the driver does not support them.
pub(super) fn read(device: &str) -> Result<Ethtool, PortError> {
    let mut kernel = open()?;
    let mut port = Ethtool::default();
    features(&mut kernel, device, &mut port)
        .map_err(|error| PortError::Read(device.to_owned(), error))?;
    port.rings = rings(&mut kernel, device).ok();
    port.channels = channels(&mut kernel, device).ok();
    Ok(port)
}

fn open() -> Result<Family, PortError> {
    Family::open("ethtool").map_err(|error| PortError::Family(error.into()))
}

fn header(device: &str) -> Vec<u8> {
    let mut request = Vec::new();
    let name = [device.as_bytes(), b"\0"].concat();
    push_nested(&mut request, HEADER, |header| push_attribute(header, DEV_NAME, &name));
    request
}

/// Switches one offload and checks the result.
pub(super) fn set_feature(device: &str, feature: &str, on: bool) -> Result<(), PortError> {
    let mut request = header(device);
    let name = [feature.as_bytes(), b"\0"].concat();
    push_nested(&mut request, WANTED, |set| {
        push_nested(set, BITS, |bits| {
            push_nested(bits, BIT, |bit| {
                push_attribute(bit, BIT_NAME, &name);
                if on {
                    push_attribute(bit, BIT_VALUE, &[]);
                }
            });
        });
    });
    open()?.request(FEATURES_SET, &request).map_err(|error| PortError::Set {
        device: device.to_owned(),
        feature: feature.to_owned(),
        on,
        error: error.into(),
    })?;
    // Drivers may ignore a request. A requested offload may depend on another one.
    if read(device)?.features.get(feature).is_some_and(|now| now.on == on || now.wanted == on) {
        return Ok(());
    }
    Err(PortError::Ignored { device: device.to_owned(), feature: feature.to_owned(), on })
}

fn features(kernel: &mut Family, device: &str, port: &mut Ethtool) -> io::Result<()> {
    let answer = kernel.request(FEATURES_GET, &header(device))?;
    for answer in contents(&answer) {
        let bits = |kind| attribute(answer, kind).map(names).unwrap_or_default();
        let [hw, active, fixed, wanted] = [HW, ACTIVE, NOCHANGE, WANTED].map(bits);
        for name in hw.iter().chain(&active).chain(&fixed) {
            // Like ethtool, report an offload as fixed if no driver or this driver cannot change
            // it.
            let changeable = hw.contains(name) && !fixed.contains(name);
            let feature = Feature {
                on: active.contains(name),
                fixed: !changeable,
                wanted: wanted.contains(name),
            };
            port.features.insert(name.clone(), feature);
        }
    }
    Ok(())
}

/// Returns the names of the set bits. Without a mask, the kernel sends only set bits.
fn names(set: &[u8]) -> BTreeSet<String> {
    let masked = attribute(set, NOMASK).is_none();
    let bits = attributes(attribute(set, BITS).unwrap_or_default());
    let set = bits.filter(|(_, bit)| !masked || attribute(bit, BIT_VALUE).is_some());
    let name = |bit| Some(String::from_utf8_lossy(attribute(bit, BIT_NAME)?.strip_suffix(b"\0")?));
    set.filter_map(|(_, bit)| name(bit).map(Into::into)).into_set()
}

fn rings(kernel: &mut Family, device: &str) -> io::Result<Rings> {
    // `ETHTOOL_A_RINGS_RX`, `_RX_MAX`, `_TX`, `_TX_MAX`.
    let [rx, rx_max, tx, tx_max] = numbers(kernel, RINGS_GET, device, [6, 2, 9, 5])?;
    Ok(Rings { rx, rx_max, tx, tx_max })
}

fn channels(kernel: &mut Family, device: &str) -> io::Result<Channels> {
    // `ETHTOOL_A_CHANNELS_RX_COUNT`, `_RX_MAX`, `_TX_COUNT`, `_TX_MAX`, `_COMBINED_COUNT`,
    // `_COMBINED_MAX`.
    let [rx, rx_max, tx, tx_max, both, both_max] =
        numbers(kernel, CHANNELS_GET, device, [6, 2, 7, 3, 9, 5])?;
    Ok(Channels {
        rx: both + rx,
        rx_max: both_max + rx_max,
        tx: both + tx,
        tx_max: both_max + tx_max,
    })
}

/// Returns attributes of the answer. Missing attributes are 0.
fn numbers<const N: usize>(
    kernel: &mut Family,
    command: u8,
    device: &str,
    kinds: [u16; N],
) -> io::Result<[u32; N]> {
    let answer = kernel.request(command, &header(device))?;
    let content = contents(&answer).last().unwrap_or_default();
    let word = |kind| number(attribute(content, kind)?, u32::from_ne_bytes);
    Ok(kinds.map(|kind| word(kind).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::{Feature, read};

    #[test]
    fn loopback_has_fixed_and_changeable_offloads() {
        let port = read("lo").unwrap();
        let gro = port.feature("rx-gro");
        assert!(!gro.fixed, "{gro:?}");
        assert_eq!(port.feature("hw-tc-offload"), Feature { fixed: true, ..Feature::default() });
        let fixed = port.feature("loopback");
        assert!(fixed.on && fixed.fixed, "{fixed:?}");
    }

    #[test]
    fn an_error_names_the_missing_device() {
        let error = read("no-such-port").unwrap_err().to_string();
        assert!(error.contains("no-such-port"), "{error}");
    }
}
