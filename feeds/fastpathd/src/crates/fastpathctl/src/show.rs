// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon's answers as text. Pure: takes JSON, gives lines.

use std::fmt::Write;

use serde_json::Value;

use crate::protection::plain;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units::{duration, percent, rate, size};

const PATHS: [&str; 5] = ["hardware", "flowtable", "ebpf", "inspect", "slow"];

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn joined(value: &Value, key: &str) -> String {
    list(value, key).filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

/// The answer of `status`.
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
        "flows              {} of {}, refreshed every {:.1} s",
        number(ct, "count"),
        number(ct, "limit"),
        f64::from(u32::try_from(number(ct, "refresh_ms")).unwrap_or(u32::MAX)) / 1000.0,
    );
    let ips = &answer["ips"];
    let _ = writeln!(out, "inspection         {}: {}", text(ips, "state"), plain(text(ips, "why")));
    for wan in list(answer, "wan") {
        out.push_str(&wan_line(wan, number(answer, "now_ms")));
    }
    for finding in list(answer, "health") {
        let _ = writeln!(out, "{:<18} {}", text(finding, "level"), text(finding, "text"));
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

/// The answer of `engine`, or that part of `status`.
pub(crate) fn flushed(answer: &Value) -> String {
    if answer["flushed"] == true {
        "flushed: flows are in the fast path again with their next packet\n".to_owned()
    } else {
        "nothing to flush: the fast path is off\n".to_owned()
    }
}

pub(crate) fn engine(state: &Value) -> String {
    let mut out = String::new();
    let (wanted, active) = (text(state, "wanted"), text(state, "active"));
    if wanted == active {
        let _ = writeln!(out, "engine             {active}");
    } else {
        let _ = writeln!(out, "engine             {active} (configured: {wanted})");
    }
    let why = text(state, "why");
    if !why.is_empty() {
        let _ = writeln!(out, "reason             {why}");
    }
    let _ = writeln!(out, "devices            {}", joined(state, "devices"));
    out
}

fn paths(paths: &Value) -> String {
    let mut table = Table::new(&[
        ("PATH", Left),
        ("FLOWS", Right),
        ("RATE", Right),
        ("PACKETS/S", Right),
        ("BYTES", Right),
    ]);
    for path in PATHS {
        let p = &paths[path];
        table.row(vec![
            path.into(),
            number(p, "flows").to_string(),
            rate(number(p, "bps")),
            number(p, "pps").to_string(),
            size(number(p, "bytes")),
        ]);
    }
    table.render()
}

/// One page of `flows`, ungrouped.
pub(crate) fn flows(page: &Value) -> String {
    let cols: Vec<&str> = list(page, "cols").filter_map(Value::as_str).collect();
    let mut table = Table::new(&[
        ("PROTO", Left),
        ("SOURCE", Left),
        ("DESTINATION", Left),
        ("IN", Left),
        ("OUT", Left),
        ("PATH", Left),
        ("REASON", Left),
        ("UP", Right),
        ("DOWN", Right),
        ("BYTES", Right),
        ("AGE", Right),
    ]);
    for row in list(page, "rows") {
        let row = Row { cols: &cols, row };
        table.row(vec![
            row.text("proto").to_owned(),
            row.endpoint("src", "sport"),
            row.endpoint("dst", "dport"),
            row.side("in"),
            row.side("out"),
            row.text("path").to_owned(),
            row.text("reason").to_owned(),
            rate(row.number("up_bps")),
            rate(row.number("down_bps")),
            size(row.number("up_bytes") + row.number("down_bytes")),
            duration(row.number("age_s")),
        ]);
    }
    let mut out = table.render();
    let shown = list(page, "rows").count();
    let _ = writeln!(
        out,
        "{shown} of {} matching flows shown, {} in total",
        number(page, "matched"),
        number(page, "total")
    );
    out
}

struct Row<'a> {
    cols: &'a [&'a str],
    row: &'a Value,
}

impl Row<'_> {
    fn cell(&self, name: &str) -> Option<&Value> {
        let at = self.cols.iter().position(|c| *c == name)?;
        self.row.get(at)
    }

    fn text(&self, name: &str) -> &str {
        self.cell(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> i64 {
        self.cell(name).and_then(Value::as_i64).unwrap_or(0)
    }

    fn endpoint(&self, address: &str, port: &str) -> String {
        let (address, port) = (self.text(address), self.number(port));
        match (address.contains(':'), port) {
            (_, 0) => address.to_owned(),
            (true, _) => format!("[{address}]:{port}"),
            (false, _) => format!("{address}:{port}"),
        }
    }

    /// `lan/10`: zone (or device) and VLAN.
    fn side(&self, side: &str) -> String {
        let zone = match self.text(&format!("{side}_zone")) {
            "" => self.text(&format!("{side}_dev")),
            zone => zone,
        };
        match self.number(&format!("{side}_vlan")) {
            0 => zone.to_owned(),
            vlan => format!("{zone}/{vlan}"),
        }
    }
}

/// The answer of `flow`.
pub(crate) fn flow(answer: &Value) -> String {
    let mut out = String::new();
    for (name, value) in answer["flow"].as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(out, "{name:<14} {text}");
    }
    let _ = writeln!(out, "{:<14} {}\n", "ports", joined(answer, "ports"));
    let mut life = Table::new(&[("AT", Right), ("PATH", Left), ("REASON", Left), ("STATE", Left)]);
    let first = list(answer, "events").next().map_or(0, |event| number(event, "at_ms"));
    for event in list(answer, "events") {
        life.row(vec![
            format!("+{} ms", number(event, "at_ms") - first),
            text(event, "path").to_owned(),
            text(event, "reason").to_owned(),
            text(event, "state").to_owned(),
        ]);
    }
    out.push_str(&life.render());
    out
}

/// The answer of `top`.
pub(crate) fn top(answer: &Value) -> String {
    let mut table = Table::new(&[
        ("WHO", Left),
        ("NAME", Left),
        ("FLOWS", Right),
        ("OFFLOADED", Right),
        ("UP", Right),
        ("DOWN", Right),
        ("BYTES", Right),
        ("OFF THE SLOW PATH", Right),
    ]);
    for row in list(answer, "rows") {
        table.row(vec![
            text(row, "key").to_owned(),
            text(row, "name").to_owned(),
            number(row, "flows").to_string(),
            number(row, "offloaded").to_string(),
            rate(number(row, "up_bps")),
            rate(number(row, "down_bps")),
            size(number(row, "bytes")),
            percent(row.get("ratio").and_then(Value::as_f64)),
        ]);
    }
    table.render()
}

/// The answer of `topology`.
pub(crate) fn topology(answer: &Value) -> String {
    let mut links = Table::new(&[
        ("DEVICE", Left),
        ("KIND", Left),
        ("LINK", Left),
        ("ON", Left),
        ("VLANS", Left),
        ("ADDRESSES", Left),
        ("FLOWTABLE", Left),
    ]);
    for link in list(answer, "links") {
        let on = match (text(link, "master"), text(link, "lower")) {
            ("", lower) => lower,
            (master, _) => master,
        };
        let name = text(link, "name");
        links.row(vec![
            name.to_owned(),
            text(link, "kind").to_owned(),
            (if flag(link, "carrier") { "up" } else { "down" }).to_owned(),
            on.to_owned(),
            vlans(answer, link, name),
            joined(link, "addresses"),
            (if flag(link, "in_flowtable") { "yes" } else { text(link, "why") }).to_owned(),
        ]);
    }
    let mut out = links.render();
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

/// `10u* 20t`: a port's VLANs, u untagged, t tagged, * where untagged frames go; or the tag of a
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
#[path = "show_tests.rs"]
mod tests;
