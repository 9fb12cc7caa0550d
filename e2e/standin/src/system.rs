// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `system`, from `/proc` and `/etc`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::exec::{Action, Program};
use crate::reply::{Answer, text};

const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);

pub const METHODS: &[Method] = &[
    Method { name: "board", policy: &[SESSION] },
    Method { name: "info", policy: &[SESSION] },
    Method { name: "reboot", policy: &[SESSION] },
    Method { name: "validate_firmware_image", policy: &[("path", PolicyType::String), SESSION] },
];

/// Returns the action that answers the call, or `None` for calls that run no program.
#[must_use]
pub fn action((method, args): (&str, &Map)) -> Option<Result<Action, Status>> {
    match method {
        "reboot" => Some(Ok(Action::Background(Program::new::<&str>("/sbin/reboot", &[])))),
        "validate_firmware_image" => {
            let check = "/usr/libexec/validate_firmware_image";
            let path = text(args, "path").ok_or(Status::InvalidArgument);
            Some(path.map(|path| Action::Json(Program::new(check, &[path]))))
        }
        _ => None,
    }
}

/// Answers a call.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(method: &str) -> Answer {
    let answer = match method {
        "board" => board(),
        "info" => info(),
        _ => return Err(Status::MethodNotFound),
    };
    match answer {
        Value::Object(map) => Ok(map),
        _ => Err(Status::UnknownError),
    }
}

fn line(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn board() -> Value {
    let release = os_release();
    let of = |key: &str| release.get(key).cloned().unwrap_or_default();
    let machine = line("/sys/devices/virtual/dmi/id/product_name");
    json!({
        "kernel": line("/proc/sys/kernel/osrelease"),
        "hostname": line("/proc/sys/kernel/hostname"),
        "system": cpu(),
        "model": machine,
        "board_name": machine.to_lowercase().replace(' ', "-"),
        "rootfs_type": root_type(),
        "release": {
            "distribution": of("NAME"),
            "version": of("VERSION_ID"),
            "target": std::env::consts::ARCH,
            "description": of("PRETTY_NAME"),
        },
    })
}

fn os_release() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pair = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.to_owned(), value.trim_matches('"').to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    model
        .and_then(|line| line.split_once(": "))
        .map(|(_, name)| name.to_owned())
        .unwrap_or_default()
}

fn root_type() -> String {
    let text = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let of_root = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        (fields.next()? == "/").then(|| fields.next().map(str::to_owned)).flatten()
    };
    text.lines().filter_map(of_root).next_back().unwrap_or_default()
}

fn info() -> Value {
    let uptime = line("/proc/uptime");
    let uptime = uptime.split('.').next().and_then(|s| s.parse::<u64>().ok()).unwrap_or(0);
    let load = line("/proc/loadavg");
    let load: Vec<u64> = load.split_whitespace().take(3).map(fixed_point).collect();
    let memory = memory();
    let bytes = |key: &str| memory.get(key).copied().unwrap_or(0) * 1024;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let localtime = now.map_or(0, |now| now.as_secs());
    json!({
        "localtime": localtime,
        "uptime": uptime,
        "load": load,
        "memory": {
            "total": bytes("MemTotal"),
            "free": bytes("MemFree"),
            "shared": bytes("Shmem"),
            "buffered": bytes("Buffers"),
            "available": bytes("MemAvailable"),
            "cached": bytes("Cached"),
        },
        "swap": { "total": bytes("SwapTotal"), "free": bytes("SwapFree") },
    })
}

/// Converts a decimal to fixed point with 16 fractional bits: `1.25` to 81920.
fn fixed_point(number: &str) -> u64 {
    let (whole, hundredths) = number.split_once('.').unwrap_or((number, "0"));
    let part = |text: &str| text.parse::<u64>().unwrap_or(0);
    (part(whole) << 16) + (part(hundredths) << 16) / 100
}

/// Returns the values of `/proc/meminfo`, in KiB.
fn memory() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let pair = |line: &str| {
        let (key, value) = line.split_once(':')?;
        Some((key.to_owned(), value.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// Returns the time since boot. `/proc/uptime` has a resolution of 10 ms.
pub(crate) fn since_boot() -> std::time::Duration {
    let seconds = line("/proc/uptime").split_whitespace().next().and_then(|s| s.parse().ok());
    std::time::Duration::from_secs_f64(seconds.unwrap_or(0.0))
}
