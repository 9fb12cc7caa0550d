// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses a line of EVE into an [`Event`] with texts of bounded length.

use std::net::IpAddr;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use super::alert::{Alert, Direction, Offence};
use super::time::unix_ms;
use crate::counters::SuricataCounters;
use crate::text::bounded;

config::named! {
    pub enum EventKind from text {
        Alert = "alert",
        Drop = "drop",
        Tls = "tls",
        Quic = "quic",
        Flow = "flow",
        Stats = "stats",
    }
}

/// An unchanged line of Suricata, for collectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    pub kind: EventKind,
    /// JSON object without the newline, shared by all exporters.
    pub text: Rc<[u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Alert(Box<Alert>),
    Drop,
    Flow(FlowEnd),
    Handshake { named: bool, fingerprinted: bool },
    Stats(Box<SuricataCounters>),
    Other,
}

/// A connection that ended or timed out in Suricata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowEnd {
    pub proto: String,
    pub app: String,
    pub dport: u16,
    /// Bytes that Suricata saw, both directions.
    pub bytes: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    event_type: Option<String>,
    timestamp: String,
    flow_id: u64,
    in_iface: String,
    src_ip: Option<String>,
    src_port: u16,
    dest_ip: Option<String>,
    dest_port: u16,
    proto: String,
    app_proto: String,
    direction: String,
    alert: Option<Rule>,
    verdict: Option<Verdict>,
    flow: Option<Flow>,
    metadata: Option<Metadata>,
    http: Option<Value>,
    tls: Option<Value>,
    quic: Option<Value>,
    dns: Option<Value>,
    stats: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Rule {
    action: String,
    gid: u32,
    signature_id: u32,
    rev: u32,
    signature: String,
    category: String,
    severity: u32,
    source: Option<End>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct End {
    ip: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Verdict {
    action: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Flow {
    bytes_toserver: u64,
    bytes_toclient: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    flowbits: Vec<String>,
}

/// Flowbit that `feeds/fastpathd/files/handshake.rules` sets, because EVE reports the TCP state
/// only at the end of a flow.
const HANDSHAKE: &str = "fastpath.handshake";

/// Parses a line. Returns `None` for a line that is not an event.
#[must_use]
pub fn read_event(line: &[u8]) -> Option<Event> {
    // Serde would accept a JSON array of the fields in order.
    if line.first() != Some(&b'{') {
        return None;
    }
    let line: Line = match serde_json::from_slice(line) {
        Ok(line) => line,
        // Suricata does not escape non-ASCII characters in all texts.
        Err(_) if std::str::from_utf8(line).is_err() => {
            serde_json::from_slice(String::from_utf8_lossy(line).as_bytes()).ok()?
        }
        Err(_) => return None,
    };
    Some(match line.event_type.as_deref()? {
        "alert" => Event::Alert(Box::new(alert(line)?)),
        "drop" => Event::Drop,
        "flow" => Event::Flow(flow_end(line)?),
        "tls" => handshake(line.tls.as_ref()?),
        "quic" => handshake(line.quic.as_ref()?),
        "stats" => Event::Stats(Box::new(SuricataCounters::read(line.stats.as_ref()?)?)),
        _ => Event::Other,
    })
}

fn flow_end(line: Line) -> Option<FlowEnd> {
    let flow = line.flow?;
    Some(FlowEnd {
        proto: bounded(line.proto, 16),
        app: bounded(line.app_proto, 32),
        dport: line.dest_port,
        bytes: flow.bytes_toserver.saturating_add(flow.bytes_toclient),
    })
}

fn handshake(fields: &Value) -> Event {
    let has = |name| fields.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    Event::Handshake { named: has("sni"), fingerprinted: has("ja4") }
}

fn alert(line: Line) -> Option<Alert> {
    let target = target(&line);
    let rule = line.alert?;
    let address = |text: Option<String>| text?.parse::<IpAddr>().ok();
    let src = address(line.src_ip);
    let rule_drops = rule.action == "blocked";
    // For a rule that only alerts, Suricata reports "allowed" even if another rule dropped the
    // packet.
    let blocked = line.verdict.map_or(rule_drops, |verdict| verdict.action == "drop");
    let offender = address(rule.source.and_then(|end| end.ip)).or(src);
    let bits = line.metadata.map(|metadata| metadata.flowbits).unwrap_or_default();
    let proven = line.proto == "TCP" && bits.iter().any(|bit| bit == HANDSHAKE);
    Some(Alert {
        at_ms: unix_ms(&line.timestamp).unwrap_or_default(),
        blocked,
        gid: rule.gid,
        sid: rule.signature_id,
        rev: rule.rev,
        signature: bounded(rule.signature, 256),
        category: bounded(rule.category, 128),
        severity: rule.severity,
        proto: bounded(line.proto, 16),
        app: app(line.app_proto),
        src,
        sport: line.src_port,
        dst: address(line.dest_ip),
        dport: line.dest_port,
        direction: match line.direction.as_str() {
            "to_server" => Some(Direction::ToServer),
            "to_client" => Some(Direction::ToClient),
            _ => None,
        },
        target,
        device: bounded(line.in_iface, 16),
        flow: line.flow_id,
        offence: offender
            .filter(|_| rule_drops && blocked)
            .map(|address| Offence { address, proven }),
    })
}

fn app(name: String) -> String {
    if matches!(name.as_str(), "failed" | "unknown" | "none") {
        String::new()
    } else {
        bounded(name, 32)
    }
}

/// Returns host and path of a request target (RFC 9112): absolute form (`http://host/path`),
/// authority form (`host:port`), asterisk form (`*`), or origin form (`/path`).
fn requested(host: &str, url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            rest.to_owned()
        }
        _ if url == "*" => host.to_owned(),
        _ if authority(url).eq_ignore_ascii_case(host) => url.to_owned(),
        _ => format!("{host}{url}"),
    }
}

fn authority(text: &str) -> &str {
    let host = text.rsplit_once(':').map_or("", |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns the requested URL or name. Empty for other application protocols.
fn target(line: &Line) -> String {
    let text = |from: &Option<Value>, path: &str| {
        let text = from.as_ref()?.pointer(path)?.as_str()?;
        Some(text.to_owned()).filter(|text| !text.is_empty())
    };
    let (host, url) = (text(&line.http, "/hostname"), text(&line.http, "/url"));
    let found = match (host, url) {
        (Some(host), Some(url)) => Some(requested(&host, &url)),
        (host, url) => host.or(url),
    };
    let found = found
        .or_else(|| text(&line.tls, "/sni"))
        .or_else(|| text(&line.quic, "/sni"))
        .or_else(|| text(&line.dns, "/queries/0/rrname"))
        .or_else(|| text(&line.dns, "/query/0/rrname"))
        .or_else(|| text(&line.dns, "/rrname"));
    bounded(found.unwrap_or_default(), 256)
}

#[cfg(test)]
mod tests;
