// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `network.device`: state of each kernel device in netifd's format.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::{Answer, text};

pub const METHODS: &[Method] = &[Method {
    name: "status",
    policy: &[("name", PolicyType::String), ("ubus_rpc_session", PolicyType::String)],
}];

const COUNTERS: [&str; 10] = [
    "collisions",
    "multicast",
    "rx_bytes",
    "rx_dropped",
    "rx_errors",
    "rx_packets",
    "tx_bytes",
    "tx_dropped",
    "tx_errors",
    "tx_packets",
];
const IFF_UP: u32 = 1;

/// Answers a call from `sys`, the kernel's `/sys/class/net`: one device by name, or all.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(sys: &Path, (method, args): (&str, &Map)) -> Answer {
    if method != "status" {
        return Err(Status::MethodNotFound);
    }
    if let Some(name) = text(args, "name") {
        // Reject names that escape from `sys`.
        let known = !matches!(name, "" | "." | "..") && !name.contains('/');
        let known = known && sys.join(name).is_dir();
        return if known { Ok(describe(&sys.join(name))) } else { Err(Status::NotFound) };
    }
    let entries = std::fs::read_dir(sys).map_err(|_| Status::UnknownError)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths.iter().map(|path| (name(path), Value::Object(describe(path)))).collect())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns netifd's type and device type, derived from the kernel's attributes.
fn kind(device: &Path) -> (&'static str, &'static str) {
    let uevent = std::fs::read_to_string(device.join("uevent")).unwrap_or_default();
    let is = |kind: &str| uevent.lines().any(|line| line.strip_prefix("DEVTYPE=") == Some(kind));
    if device.join("bridge").is_dir() {
        ("bridge", "bridge")
    } else if is("vlan") {
        ("VLAN", "vlan")
    } else if is("ppp") {
        ("Tunnel", "ppp")
    } else {
        ("Network device", "ethernet")
    }
}

fn describe(device: &Path) -> Map {
    let line = |file: &str| {
        let text = std::fs::read_to_string(device.join(file)).unwrap_or_default();
        text.trim().to_owned()
    };
    let number = |file: &str| line(file).parse::<i64>().unwrap_or(0);
    let flags = line("flags");
    let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap_or(0);
    let (type_name, kind) = kind(device);
    let statistics =
        COUNTERS.map(|name| (name.to_owned(), json!(number(&format!("statistics/{name}")))));
    let mut map = json!({
        "external": false,
        "present": true,
        "type": type_name,
        "up": flags & IFF_UP != 0,
        "carrier": line("carrier") == "1",
        "devtype": kind,
        "mtu": number("mtu"),
        "macaddr": line("address"),
        "txqueuelen": number("tx_queue_len"),
        "statistics": statistics.into_iter().collect::<Map>(),
    });
    if let Value::Object(map) = &mut map {
        if let Some(speed) = Some(number("speed")).filter(|speed| *speed > 0) {
            let duplex = if line("duplex") == "half" { "H" } else { "F" };
            map.insert("speed".to_owned(), json!(format!("{speed}{duplex}")));
        }
        if kind == "bridge" {
            let members = std::fs::read_dir(device.join("brif")).into_iter().flatten().flatten();
            let mut members: Vec<String> = members.map(|entry| name(&entry.path())).collect();
            members.sort();
            map.insert("bridge-members".to_owned(), json!(members));
        }
    }
    map.as_object().cloned().unwrap_or_default()
}
