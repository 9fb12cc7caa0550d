// SPDX-License-Identifier: GPL-2.0-or-later
//! Exposes private parsers of this crate to the fuzz targets.

use std::time::Duration;

use flows::Now;
use serde_json::{Map, Value};

use crate::api::methods::METHODS;
use crate::configuration::FileReport;
use crate::core::Core;
use crate::core::calls::{Outcome, call};
use crate::network::interfaces::{Firewall, parse_dump};
use crate::network::names::Names;
use crate::sys::kernel::{self, Machine};
use crate::sys::load::CpuMeter;
use crate::sys::netdev::NetMeter;

pub fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// Sends a request to a daemon that has just started. Returns true if it answers.
#[must_use]
pub fn request(method: &str, args: Map<String, Value>) -> bool {
    let mut core = Core::new(Machine::default(), Now::default());
    matches!(call(&mut core, method, args), Outcome::Reply(Ok(_), _))
}

#[must_use]
pub fn settings(values: &Value) -> Vec<String> {
    let report = FileReport::of(values);
    report.problems.into_iter().chain(report.warnings).map(|problem| problem.text).collect()
}

#[must_use]
pub fn host(leases: &str, hosts: &str, address: std::net::IpAddr) -> Option<String> {
    Names::parse(leases, hosts).get(address).map(str::to_owned)
}

/// Returns the kinds that devices announce by mDNS.
#[must_use]
pub fn kinds(services: &Value) -> Vec<&'static str> {
    crate::devices::kinds::announced(services).into_values().collect()
}

#[must_use]
pub fn load(stat: &str, later: &str) -> Vec<f64> {
    let mut meter = CpuMeter::default();
    meter.read(stat);
    meter.read(later);
    meter.load().iter().map(|load| load.busy).collect()
}

/// Parses two readings of `/proc/net/dev`, one second apart, and returns the received bit/s.
#[must_use]
pub fn rate(dev: &str, later: &str, device: &str) -> u64 {
    let mut meter = NetMeter::default();
    meter.read(dev, Duration::ZERO);
    meter.read(later, Duration::from_secs(1));
    meter.rate(device).rx_bps
}

/// Parses the output of `date +%z` into seconds ahead of UTC.
#[must_use]
pub fn offset(text: &str) -> Option<i64> {
    kernel::parse_offset(text)
}

/// Parses netifd's interfaces and the firewall's values. Returns the number of interfaces.
#[must_use]
pub fn interfaces(dump: &Value, firewall: &Value) -> usize {
    parse_dump(dump, &Firewall::parse(firewall)).len()
}
