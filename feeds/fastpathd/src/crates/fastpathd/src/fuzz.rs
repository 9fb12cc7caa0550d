// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate, for the fuzz targets: DHCP leases, `/proc` files, answers of
//! netifd, requests and settings.

use std::time::Duration;

use flows::Now;
use serde_json::{Map, Value};

use crate::bus::methods::{METHODS, Outcome, call};
use crate::configuration::FileReport;
use crate::core::Core;
use crate::network::interfaces::{Firewall, parse_dump};
use crate::network::names::Names;
use crate::sys::kernel::{self, Machine};
use crate::sys::load::CpuMeter;
use crate::sys::netdev::NetMeter;

/// The names of the methods of object `fastpath`.
pub fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// Asks a daemon that has just started; true if it answers.
#[must_use]
pub fn request(method: &str, args: Map<String, Value>) -> bool {
    let mut core = Core::new(Machine::default(), Now::default());
    matches!(call(&mut core, method, args), Outcome::Reply(Ok(_), _))
}

/// Reads the values of package `fastpath`; the texts of its problems.
#[must_use]
pub fn settings(values: &Value) -> Vec<String> {
    let report = FileReport::of(values);
    report.problems.into_iter().chain(report.warnings).map(|problem| problem.text).collect()
}

/// The name of a host by dnsmasq's leases and `/etc/hosts`.
#[must_use]
pub fn host(leases: &str, hosts: &str, address: std::net::IpAddr) -> Option<String> {
    Names::parse(leases, hosts).get(address).map(str::to_owned)
}

/// Reads `/proc/stat` twice, the second time as `later`; the shares of busy time.
#[must_use]
pub fn load(stat: &str, later: &str) -> Vec<f64> {
    let mut meter = CpuMeter::default();
    meter.read(stat);
    meter.read(later);
    meter.load().iter().map(|load| load.busy).collect()
}

/// Reads `/proc/net/dev` twice; the bits received per second.
#[must_use]
pub fn rate(dev: &str, later: &str, device: &str) -> u64 {
    let mut meter = NetMeter::default();
    meter.read(dev, Duration::ZERO);
    meter.read(later, Duration::from_secs(1));
    meter.rate(device).rx_bps
}

/// Reads the output of `date +%z`.
#[must_use]
pub fn offset(text: &str) -> Option<i64> {
    kernel::parse_offset(text)
}

/// Reads netifd's interfaces and the firewall's values; the number of interfaces.
#[must_use]
pub fn interfaces(dump: &Value, firewall: &Value) -> usize {
    parse_dump(dump, &Firewall::parse(firewall)).len()
}
