// SPDX-License-Identifier: GPL-2.0-or-later
//! Switches of traffic types, from the configuration to the reason of a flow.

use model::TrafficType;
use ruleset::Applied;
use serde_json::{Value, json};

use crate::fixture::{ask, configuration, established, running};

/// Returns path and reason of a download from `br-lan.10` over `pppoe-wan` with this option.
fn with_option(option: &str, value: Value) -> [Value; 2] {
    let mut core = running();
    let mut values = configuration("flowtable");
    values["main"][option] = value;
    core.configuration_read(&values);
    core.applied(Ok(Applied::Replaced));
    core.entries_read(&[established(1, false)]);
    let flows = ask(&mut core, "flows", json!({}));
    let columns = flows["cols"].as_array().unwrap();
    ["path", "reason"].map(|name| {
        flows["rows"][0][columns.iter().position(|column| column == name).unwrap()].clone()
    })
}

#[test]
fn a_switch_keeps_the_flows_of_its_type_on_the_slow_path() {
    for option in ["ipv4", "vlan", "pppoe"] {
        assert_eq!(with_option(option, json!("0")), ["slow", "excluded"], "{option}");
        assert_eq!(with_option(option, json!("1")), ["slow", "pending"], "{option}");
    }
    assert_eq!(with_option("ipv6", json!("0")), ["slow", "pending"]);
    for tunnel in TrafficType::TUNNELS {
        let list = json!([tunnel.name()]);
        assert_eq!(with_option("slow_tunnel", list), ["slow", "pending"], "{tunnel}");
    }
}
