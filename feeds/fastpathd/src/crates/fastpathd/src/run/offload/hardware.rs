// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads from the drivers which ports support hardware offloading.

use std::collections::BTreeSet;

use gateway::offload::hardware::HardwarePorts;
use netlink::{Family, RequestError, attribute, attributes, contents, push_attribute, push_nested};

const TC_OFFLOAD: &str = "hw-tc-offload";

/// Returns the ports with hardware support. `None` on failure. A missing port counts as
/// unsupported.
pub(super) fn ports(ports: &BTreeSet<String>) -> Option<HardwarePorts> {
    let mut kernel = Family::open("ethtool").ok()?;
    let mut able = BTreeSet::new();
    for port in ports {
        match has_feature(&mut kernel, port, TC_OFFLOAD) {
            Ok(true) => able.insert(port.clone()),
            Ok(false) => false,
            Err(error) if error.refused() == Some(libc::ENODEV) => false,
            Err(_) => return None,
        };
    }
    Some(HardwarePorts { able, present: ports.len() })
}

fn has_feature(kernel: &mut Family, port: &str, feature: &str) -> Result<bool, RequestError> {
    /// `ETHTOOL_MSG_FEATURES_GET`, and attributes of requests and answers.
    const FEATURES_GET: u8 = 11;
    const HEADER: u16 = 1;
    const DEV_NAME: u16 = 2;
    const ACTIVE: u16 = 4;
    const BITS: u16 = 3;
    const NAME: u16 = 2;
    let (device, mut request) = ([port.as_bytes(), &[0]].concat(), Vec::new());
    push_nested(&mut request, HEADER, |header| push_attribute(header, DEV_NAME, &device));
    let answer = kernel.request(FEATURES_GET, &request)?;
    let sets = contents(&answer).filter_map(|content| attribute(content, ACTIVE));
    // A bit set without a mask lists the bits that are on.
    let mut on = sets.filter_map(|set| attribute(set, BITS)).flat_map(attributes);
    let name = [feature.as_bytes(), &[0]].concat();
    Ok(on.any(|(_, bit)| attribute(bit, NAME) == Some(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_the_feature_is_not_able() {
        let ports = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        // On the test machine, hw-tc-offload of `lo` is off and fixed.
        let read = super::ports(&ports(&["lo", "no-such-port"])).unwrap();
        assert_eq!(read, HardwarePorts { able: BTreeSet::new(), present: 2 });
    }

    #[test]
    fn finds_active_features_by_name() {
        let mut kernel = Family::open("ethtool").unwrap();
        assert!(has_feature(&mut kernel, "lo", "tx-scatter-gather").unwrap());
        assert!(!has_feature(&mut kernel, "lo", "hw-tc-offload").unwrap());
    }
}
