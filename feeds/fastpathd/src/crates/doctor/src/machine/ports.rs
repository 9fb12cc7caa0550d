// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and switches offloads, and reads rings and queues of a port, over ethtool's netlink family
//! (Linux 5.10).

use std::collections::BTreeSet;
use std::io;

use netlink::{Family, contents};
use netlink_bindings::ethtool::{
    Channels as ChannelAttrs, Features, IterableBitset, PushFeatures, Rings as RingAttrs,
};
use thiserror::Error;

use super::{Channels, Ethtool, Feature, Rings};

// Commands of the kernel's `ethtool_netlink.h`. netlink-bindings 0.3.5 has wrong numbers, because
// it counts notifications, too.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const RINGS_GET: u8 = 15;
const CHANNELS_GET: u8 = 17;

/// Why offloads could not be read or changed.
#[derive(Debug, Error)]
pub(super) enum PortError {
    #[error("resolving ethtool's netlink family: {0}")]
    Family(#[source] io::Error),
    #[error("reading the offloads of {0}: {1}")]
    Read(String, #[source] io::Error),
    #[error("turning {feature} of {device} {}: {error}", if *on { "on" } else { "off" })]
    Set { device: String, feature: String, on: bool, error: io::Error },
    #[error("the driver of {device} did not turn {feature} {}", if *on { "on" } else { "off" })]
    Kept { device: String, feature: String, on: bool },
}

/// Reads the offloads of `device`. Rings and queues are `None` if the driver lacks them.
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

/// Returns the header of a request to this family.
fn header(device: &str) -> Vec<u8> {
    let mut request = Vec::new();
    PushFeatures::new(&mut request).nested_header().push_dev_name_bytes(device.as_bytes());
    request
}

/// Switches one offload and checks the result.
pub(super) fn set_feature(device: &str, feature: &str, on: bool) -> Result<(), PortError> {
    let mut request = header(device);
    {
        let bit = PushFeatures::new(&mut request).nested_wanted().nested_bits().nested_bit();
        let bit = bit.push_name_bytes(feature.as_bytes());
        if on {
            bit.push_value(());
        }
    }
    open()?.request(FEATURES_SET, &request).map_err(|error| PortError::Set {
        device: device.to_owned(),
        feature: feature.to_owned(),
        on,
        error: error.into(),
    })?;
    // A driver may ignore the request. A requested offload may wait for another one.
    if read(device)?.features.get(feature).is_some_and(|now| now.on == on || now.wanted == on) {
        return Ok(());
    }
    Err(PortError::Kept { device: device.to_owned(), feature: feature.to_owned(), on })
}

fn features(kernel: &mut Family, device: &str, port: &mut Ethtool) -> io::Result<()> {
    let answer = kernel.request(FEATURES_GET, &header(device))?;
    for answer in contents(&answer).map(Features::new) {
        let bits = |set: Result<IterableBitset<'_>, _>| set.map(names).unwrap_or_default();
        let (hw, active) = (bits(answer.get_hw()), bits(answer.get_active()));
        let (fixed, wanted) = (bits(answer.get_nochange()), bits(answer.get_wanted()));
        for name in hw.iter().chain(&active).chain(&fixed) {
            // Like ethtool, report offloads as fixed that this or any driver cannot change.
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

/// Returns the names of the set bits. Without a mask the kernel sends only set bits.
fn names(set: IterableBitset<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let masked = set.get_nomask().is_err();
    for bit in set.get_bits().map(|bits| bits.get_bit()).into_iter().flatten() {
        if masked && bit.get_value().is_err() {
            continue;
        }
        if let Ok(name) = bit.get_name() {
            names.insert(name.to_string_lossy().into_owned());
        }
    }
    names
}

fn rings(kernel: &mut Family, device: &str) -> io::Result<Rings> {
    let answer = kernel.request(RINGS_GET, &header(device))?;
    let rings = contents(&answer).map(RingAttrs::new).last().map(|answer| Rings {
        rx: answer.get_rx().unwrap_or_default(),
        rx_max: answer.get_rx_max().unwrap_or_default(),
        tx: answer.get_tx().unwrap_or_default(),
        tx_max: answer.get_tx_max().unwrap_or_default(),
    });
    Ok(rings.unwrap_or_default())
}

fn channels(kernel: &mut Family, device: &str) -> io::Result<Channels> {
    let answer = kernel.request(CHANNELS_GET, &header(device))?;
    let channels = contents(&answer).map(ChannelAttrs::new).last().map(|answer| {
        let both = answer.get_combined_count().unwrap_or_default();
        let both_max = answer.get_combined_max().unwrap_or_default();
        Channels {
            rx: both + answer.get_rx_count().unwrap_or_default(),
            rx_max: both_max + answer.get_rx_max().unwrap_or_default(),
            tx: both + answer.get_tx_count().unwrap_or_default(),
            tx_max: both_max + answer.get_tx_max().unwrap_or_default(),
        }
    });
    Ok(channels.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Feature, read};

    /// The loopback device of the machine that runs the tests.
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
