// SPDX-License-Identifier: GPL-2.0-or-later
//! Sample configurations and drafts for tests.

use serde_json::Value;

use crate::draft::{Draft, DraftError};
use crate::edit::{Edit, read_edits};
use ::uci::{Package, Packages, Section};

pub(crate) fn packages(files: &[(&str, &str)]) -> Packages {
    let package = |text: &str| {
        let Value::Object(values) = config::parse_uci(text).unwrap() else { unreachable!() };
        Package::read(&values)
    };
    files.iter().map(|(name, text)| ((*name).to_owned(), package(text))).collect()
}

pub(crate) const NETWORK: &str = "
config device
    option name 'br-lan'
    option type 'bridge'
    list ports 'lan1'
    list ports 'lan2'
    list ports 'lan3'
config bridge-vlan
    option device 'br-lan'
    option vlan '10'
    list ports 'lan1:u*'
    list ports 'lan3:u*'
config bridge-vlan
    option device 'br-lan'
    option vlan '20'
    list ports 'lan2:t'
config interface 'lan'
    option device 'br-lan.10'
    option proto 'static'
    list ipaddr '10.10.10.1/24'
config interface 'iot'
    option device 'br-lan.20'
    option proto 'static'
    option ipaddr '10.10.20.1'
    option netmask '255.255.255.0'
config interface 'wan'
    option device 'wan.35'
    option proto 'pppoe'
    option username 'subscriber'
    option password 'line'
config interface 'wan6'
    option device '@wan'
    option proto 'dhcpv6'
";

pub(crate) const FIREWALL: &str = "
config defaults
    option input 'REJECT'
config zone
    option name 'lan'
    list network 'lan'
    option input 'ACCEPT'
config zone
    option name 'iot'
    list network 'iot'
    option input 'REJECT'
config zone
    option name 'wan'
    option network 'wan wan6'
    option input 'REJECT'
config forwarding
    option src 'lan'
    option dest 'wan'
config rule
    option name 'Allow-Ping'
    option src '*'
    option proto 'icmp'
    option target 'ACCEPT'
";

pub(crate) fn lab() -> Packages {
    packages(&[("network", NETWORK), ("firewall", FIREWALL)])
}

pub(crate) fn edits(list: impl Into<Value>) -> Vec<Edit> {
    read_edits(list.into().as_array().unwrap()).unwrap()
}

pub(crate) fn draft(list: impl Into<Value>) -> Draft {
    Draft::new(lab(), &edits(list)).unwrap()
}

pub(crate) fn refused(list: impl Into<Value>) -> DraftError {
    Draft::new(lab(), &edits(list)).unwrap_err()
}

/// Returns the section whose option has this value.
pub(crate) fn named<'a>(
    packages: &'a Packages,
    config: &str,
    option: &str,
    value: &str,
) -> &'a Section {
    let all = &packages[config].sections;
    all.iter().find(|section| section.text(option) == Some(value)).unwrap()
}
