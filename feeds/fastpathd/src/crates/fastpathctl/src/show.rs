// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats the answers of `status`, `engine`, `flush`, `flows`, `flow`, `top`, `devices`
//! and `topology`.

use std::fmt::Write;

use serde_json::Value;
use ubus::Map;

use crate::json::{flag, list, number, text};
use crate::protection::{endpoint, plain};
use crate::table::table;
use crate::units::{duration, percent, rate, size};
use crate::usage::time;

const PATHS: [&str; 5] = ["hardware", "flowtable", "ebpf", "inspect", "slow"];

fn joined(value: &Value, key: &str) -> String {
    list(value, key).filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

pub(crate) fn status(answer: &Value) -> String {
    let mut out = engine(&answer["engine"]);
    let ratio = &answer["ratio"];
    let _ = writeln!(
        out,
        "offloaded          {} now, {} since start",
        percent(ratio.get("now").and_then(Value::as_f64)),
        percent(ratio.get("total").and_then(Value::as_f64)),
    );
    let ct = &answer["conntrack"];
    let _ = writeln!(
        out,
        "flows              {} ({} local, {} ended) of {}, refreshed every {:.1} s",
        number(ct, "count"),
        number(answer, "local_flows"),
        number(answer, "ended_flows"),
        number(ct, "limit"),
        f64::from(u32::try_from(number(ct, "refresh_ms")).unwrap_or(u32::MAX)) / 1000.0,
    );
    let ips = &answer["ips"];
    let _ = writeln!(out, "inspection         {}: {}", text(ips, "state"), plain(text(ips, "why")));
    for wan in list(answer, "wan") {
        out.push_str(&wan_line(wan, number(answer, "now_ms")));
    }
    for off in list(answer, "ssids_off") {
        let (ssid, until) = (plain(text(off, "ssid")), number(off, "until_ms"));
        let end = if until > 0 { format!(" until {} UTC", time(until)) } else { String::new() };
        let _ = writeln!(out, "Wi-Fi off          {ssid}, by a schedule{end}");
    }
    for finding in list(answer, "health") {
        let _ = writeln!(out, "{:<18} {}", text(finding, "level"), text(finding, "text"));
    }
    let unlisted = |worst: &&Value| {
        list(answer, "health").all(|finding| text(finding, "code") != text(worst, "id"))
    };
    for worst in list(&answer["doctor"]["last"], "worst").filter(unlisted) {
        let (title, id) = (plain(text(worst, "title")), text(worst, "id"));
        let _ = writeln!(out, "{:<18} {title}  [{id}]", text(worst, "severity"));
    }
    out.push('\n');
    out.push_str(&paths(&answer["paths"]));
    out
}

fn wan_line(wan: &Value, now_ms: i64) -> String {
    let name = text(wan, "name");
    if !flag(wan, "up") {
        let (state, why) = match text(wan, "hindrance") {
            "disconnected" => ("disconnected", ""),
            "port-down" => ("down", ", port disabled"),
            "no-link" => ("down", ", no link"),
            "failed" => ("down", ", netifd reports an error"),
            _ => ("down", ""),
        };
        return format!("{name:<18} {state} ({}{why})\n", text(wan, "proto"));
    }
    format!(
        "{name:<18} up {} over {}, {}  ↓ {}  ↑ {}\n",
        duration((now_ms - number(wan, "up_since_ms")) / 1000),
        text(wan, "proto"),
        joined(wan, "addresses"),
        rate(number(wan, "rx_bps")),
        rate(number(wan, "tx_bps")),
    )
}

pub(crate) fn flushed(answer: &Value) -> String {
    if answer["flushed"] == true {
        "flushed: flows are in the fast path again with their next packet\n".to_owned()
    } else {
        "nothing to flush: the fast path is off\n".to_owned()
    }
}

/// Formats the answer of `engine`, or the same part of `status`.
pub(crate) fn engine(state: &Value) -> String {
    let mut out = String::new();
    let (wanted, active) = (text(state, "wanted"), text(state, "active"));
    if state["cause"]["code"] == "waiting" {
        let _ = writeln!(out, "engine             starting");
    } else if wanted == active {
        let _ = writeln!(out, "engine             {active}");
    } else {
        let _ = writeln!(out, "engine             {active} (configured: {wanted})");
    }
    let why = text(state, "why");
    if !why.is_empty() {
        let _ = writeln!(out, "reason             {why}");
    }
    let _ = writeln!(out, "devices            {}", joined(state, "devices"));
    let hardware = &state["hardware_ports"];
    if !hardware.is_null() {
        let (able, present) = (list(hardware, "able").count(), number(hardware, "present"));
        let unused = if flag(state, "hardware_unused") { ", no flow in hardware" } else { "" };
        let _ = writeln!(out, "hardware           {able} of {present} ports{unused}");
    }
    out
}

fn paths(paths: &Value) -> String {
    let rows = PATHS.iter().map(|path| {
        let p = &paths[path];
        vec![
            (*path).to_owned(),
            number(p, "flows").to_string(),
            rate(number(p, "bps")),
            number(p, "pps").to_string(),
            size(number(p, "bytes")),
        ]
    });
    table("PATH|>FLOWS|>RATE|>PACKETS/S|>BYTES", rows)
}

pub(crate) fn flows(page: &Value) -> String {
    let named = |row: &Value| -> Value {
        let cells = row.as_array().into_iter().flatten().cloned();
        let names = list(page, "cols").filter_map(Value::as_str).map(str::to_owned);
        names.zip(cells).collect::<Map>().into()
    };
    let rows = list(page, "rows").map(named).map(|row| {
        vec![
            text(&row, "proto").to_owned(),
            endpoint(text(&row, "src"), number(&row, "sport")),
            endpoint(text(&row, "dst"), number(&row, "dport")),
            side(&row, "in"),
            side(&row, "out"),
            text(&row, "path").to_owned(),
            text(&row, "reason").to_owned(),
            rate(number(&row, "up_bps")),
            rate(number(&row, "down_bps")),
            size(number(&row, "up_bytes") + number(&row, "down_bytes")),
            duration(number(&row, "age_s")),
        ]
    });
    let mut out = table("PROTO|SOURCE|DESTINATION|IN|OUT|PATH|REASON|>UP|>DOWN|>BYTES|>AGE", rows);
    let shown = list(page, "rows").count();
    let (matched, total) = (number(page, "matched"), number(page, "total"));
    let _ = writeln!(out, "{shown} of {matched} matching flows shown, {total} in total");
    out
}

/// Formats one side of a flow as zone (or device) and VLAN, such as `lan/10`.
fn side(row: &Value, side: &str) -> String {
    let zone = match text(row, &format!("{side}_zone")) {
        "" => text(row, &format!("{side}_dev")),
        zone => zone,
    };
    match number(row, &format!("{side}_vlan")) {
        0 => zone.to_owned(),
        vlan => format!("{zone}/{vlan}"),
    }
}

pub(crate) fn flow(answer: &Value) -> String {
    let mut out = String::new();
    for (name, value) in answer["flow"].as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(out, "{name:<14} {text}");
    }
    if !text(answer, "hardware").is_empty() {
        let _ = writeln!(out, "{:<14} {}", "hardware", text(answer, "hardware"));
    }
    let _ = writeln!(out, "{:<14} {}\n", "ports", joined(answer, "ports"));
    let first = list(answer, "events").next().map_or(0, |event| number(event, "at_ms"));
    let history = list(answer, "events").map(|event| {
        vec![
            format!("+{} ms", number(event, "at_ms") - first),
            text(event, "path").to_owned(),
            text(event, "reason").to_owned(),
            text(event, "state").to_owned(),
        ]
    });
    out.push_str(&table(">AT|PATH|REASON|STATE", history));
    out
}

pub(crate) fn top(answer: &Value) -> String {
    let rows = list(answer, "rows").map(|row| {
        vec![
            text(row, "key").to_owned(),
            text(row, "name").to_owned(),
            number(row, "flows").to_string(),
            number(row, "offloaded").to_string(),
            rate(number(row, "up_bps")),
            rate(number(row, "down_bps")),
            size(number(row, "bytes")),
            percent(row.get("ratio").and_then(Value::as_f64)),
        ]
    });
    table("WHO|NAME|>FLOWS|>OFFLOADED|>UP|>DOWN|>BYTES|>BYTES OFFLOADED", rows)
}

pub(crate) fn devices(answer: &Value) -> String {
    let now = number(answer, "now_ms");
    let rows = list(answer, "devices").map(|device| {
        let seen = match number(device, "seen_ms") {
            0 => "not yet".to_owned(),
            seen => duration((now - seen) / 1000),
        };
        let paused = match (text(device, "paused"), number(device, "until_ms")) {
            (why, 0) => why.to_owned(),
            (why, until) => {
                format!("{why}, {} left", duration(until.saturating_sub(now) / 1000))
            }
        };
        let limit = |key| match number(device, key) {
            0 => String::new(),
            kbit => rate(kbit * 1000),
        };
        let kind = match (text(device, "kind"), text(device, "kind_source")) {
            (kind, "" | "owner") => kind.to_owned(),
            (kind, source) => format!("{kind} ({source})"),
        };
        let limits = [limit("limit_down"), limit("limit_up")];
        let limits = if limits.concat().is_empty() { String::new() } else { limits.join("/") };
        vec![
            text(device, "mac").to_owned(),
            text(device, "name").to_owned(),
            joined(device, "addresses"),
            text(device, "port").to_owned(),
            number(device, "vlan").to_string(),
            seen,
            paused,
            limits,
            rate(number(device, "up_bps")),
            rate(number(device, "down_bps")),
            size(number(device, "up_bytes")),
            size(number(device, "down_bytes")),
            kind,
            text(device, "vendor").to_owned(),
        ]
    });
    let mut out = table(
        "MAC|NAME|ADDRESSES|PORT|>VLAN|>SEEN|PAUSED|LIMIT DOWN/UP|>UP|>DOWN|>SENT|>RECEIVED|KIND|\
         VENDOR",
        rows,
    );
    let others = &answer["others"];
    let _ = writeln!(
        out,
        "others: {} sent, {} received",
        size(number(others, "up_bytes")),
        size(number(others, "down_bytes")),
    );
    out
}

pub(crate) fn topology(answer: &Value) -> String {
    let links = list(answer, "links").map(|link| {
        let on = match (text(link, "master"), text(link, "lower")) {
            ("", lower) => lower,
            (master, _) => master,
        };
        let name = text(link, "name");
        vec![
            name.to_owned(),
            text(link, "kind").to_owned(),
            (if flag(link, "carrier") { "up" } else { "down" }).to_owned(),
            on.to_owned(),
            vlans(answer, link, name),
            joined(link, "addresses"),
            (if flag(link, "in_flowtable") { "yes" } else { text(link, "why") }).to_owned(),
        ]
    });
    let mut out = table("DEVICE|KIND|LINK|ON|VLANS|ADDRESSES|FLOWTABLE", links);
    for session in list(answer, "pppoe") {
        let _ = writeln!(
            out,
            "\nPPPoE session {} on {}: {} with {}",
            number(session, "session"),
            text(session, "lower"),
            text(session, "device"),
            text(session, "peer"),
        );
    }
    out
}

/// Formats a port's VLANs as `10u* 20t` (untagged, tagged; `*` marks the PVID), or the tag of a
/// VLAN device.
fn vlans(answer: &Value, link: &Value, name: &str) -> String {
    if number(link, "vlan") != 0 {
        return number(link, "vlan").to_string();
    }
    let words: Vec<String> = list(answer, "bridges")
        .flat_map(|bridge| list(bridge, "ports"))
        .filter(|port| text(port, "name") == name)
        .flat_map(|port| list(port, "vlans"))
        .map(|v| {
            let tag = if flag(v, "tagged") { "t" } else { "u" };
            let pvid = if flag(v, "pvid") { "*" } else { "" };
            format!("{}{tag}{pvid}", number(v, "vid"))
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
