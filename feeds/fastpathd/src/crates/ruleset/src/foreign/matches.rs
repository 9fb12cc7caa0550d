// SPDX-License-Identifier: GPL-2.0-or-later
//! Evaluates matches for packets of an established TCP or UDP connection: never, always, under
//! conditions of the flow, or unknown. Expressions vary between the packets of a flow unless listed
//! here.

use std::collections::{BTreeMap, BTreeSet};

use model::{Condition, Test};
use serde_json::Value;

use super::values::{address_range, has_statement, is_catch_all, number, port_range, words};
use super::{Name, Place, text};

/// Whether an expression with an unknown value is equal for all packets of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Steadiness {
    Fixed,
    /// Equal until set elements expire.
    Expires,
    Varies,
}

use Steadiness::{Expires, Fixed, Varies};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Match {
    Never,
    Always,
    When(Vec<Condition>),
    Unknown(Steadiness),
}

pub(super) struct SetInfo {
    pub(super) elements: Elements,
    pub(super) dynamic: bool,
    pub(super) expires: bool,
    /// Elements have statements, such as limits, that decide per packet.
    pub(super) decides: bool,
}

pub(super) enum Elements {
    Known(Vec<Value>),
    Unknown,
}

pub(super) struct Scope<'a> {
    pub(super) sets: &'a BTreeMap<Name, SetInfo>,
    pub(super) family: &'a str,
    pub(super) table: &'a str,
    pub(super) place: &'a Place,
    pub(super) looked_up: BTreeSet<Name>,
}

impl Scope<'_> {
    /// Reports whether devices are layer 3 devices and packets start with the IP header.
    fn is_ip(&self) -> bool {
        matches!(self.place, Place::Ip { .. })
    }

    fn knows_addresses(&self) -> bool {
        !matches!(self.place, Place::Ip { stage: None, .. })
    }

    fn is_tracked(&self) -> bool {
        matches!(self.place, Place::Ip { tracked: true, .. })
    }

    /// Reports whether elements have statements, such as limits, that decide per packet.
    pub(super) fn decides(&self, set: &Value) -> bool {
        if let Some(name) = set.as_str().and_then(|text| text.strip_prefix('@')) {
            let name = (self.family.to_owned(), self.table.to_owned(), name.to_owned());
            return self.sets.get(&name).is_some_and(|set| set.decides);
        }
        match set.get("set") {
            Some(Value::Array(list)) => list.iter().any(has_statement),
            one => one.is_some_and(has_statement),
        }
    }

    /// Evaluates `{"op": …, "left": …, "right": …}`.
    pub(super) fn evaluate(&mut self, found: &Value) -> Match {
        let null = Value::Null;
        let side = |key| found.get(key).unwrap_or(&null);
        self.compare(text(found, "op"), side("left"), side("right"))
    }

    pub(super) fn compare(&mut self, op: &str, left: &Value, right: &Value) -> Match {
        match self.known(op, left, right) {
            // Other headers, such as PPPoE, may precede the IP header.
            Match::Always if !self.is_ip() => Match::Unknown(Fixed),
            found => found,
        }
    }

    fn known(&mut self, op: &str, left: &Value, right: &Value) -> Match {
        let holds = match op {
            "==" | "in" => true,
            "!=" => false,
            _ => return self.other_operator(op, left, right),
        };
        if let Some(meta) = left.get("meta") {
            return self.meta(text(meta, "key"), left, right, holds);
        }
        if let Some(ct) = left.get("ct") {
            return self.ct(ct, left, right, holds);
        }
        if let Some(payload) = left.get("payload") {
            return self.payload(payload, left, right, holds);
        }
        if left.get("socket").is_some() {
            return Match::Never; // A forwarded packet has no socket, so nothing matches.
        }
        if let Some(option) = left.get("tcp option").filter(|one| text(one, "name") == "maxseg") {
            // Only SYN packets have `maxseg`.
            let missing = option.get("field").is_none() && right.as_bool() == Some(!holds);
            return if missing { when(Test::Proto(6), true) } else { Match::Never };
        }
        if let Some(Value::Array(parts)) = left.get("&") {
            return self.masked(parts, left, right, holds);
        }
        self.unknown(left, right)
    }

    fn meta(&mut self, key: &str, left: &Value, right: &Value, holds: bool) -> Match {
        match key {
            "l4proto" => self.protocols(left, right, holds),
            "nfproto" | "protocol" => self.families(left, right, holds),
            "iif" | "iifname" | "oif" | "oifname" => {
                self.device(key.starts_with('o'), left, right, holds)
            }
            "pkttype" => {
                let words = words(right);
                let is = |kinds: &[&str]| words.iter().any(|word| kinds.contains(word)) == holds;
                // A bridge port also receives frames to other stations.
                let other = !self.is_ip() && is(&["other"]);
                match (is(&["unicast", "host"]), other) {
                    (true, _) => Match::Always,
                    (false, true) => Match::Unknown(Fixed),
                    (false, false) => Match::Never,
                }
            }
            _ => self.unknown(left, right),
        }
    }

    fn ct(&mut self, ct: &Value, left: &Value, right: &Value, holds: bool) -> Match {
        match text(ct, "key") {
            "state" if !self.is_tracked() => Match::Unknown(Fixed),
            _ if !self.is_tracked() => self.unknown(left, right),
            "state" => {
                let states = words(right);
                if states.is_empty() {
                    return Match::Unknown(Varies);
                }
                if states.contains(&"established") == holds { Match::Always } else { Match::Never }
            }
            "direction" => match words(right).as_slice() {
                ["original"] => when(Test::Reply, !holds),
                ["reply"] => when(Test::Reply, holds),
                _ => Match::Unknown(Fixed),
            },
            "mark" => mark(u32::MAX, right, holds),
            _ => self.unknown(left, right),
        }
    }

    fn payload(&mut self, payload: &Value, left: &Value, right: &Value, holds: bool) -> Match {
        if is_inner(payload) {
            return self.unknown(left, right);
        }
        let (protocol, field) = (text(payload, "protocol"), text(payload, "field"));
        match (protocol, field) {
            ("ip" | "ip6", "saddr" | "daddr") => {
                let source = field == "saddr";
                let Some(ranges) = self.ranges(left, right, address_range) else {
                    return self.unknown(left, right);
                };
                let ipv6 = protocol == "ip6";
                let test = match ranges {
                    Ok(ranges)
                        if self.knows_addresses()
                            && ranges.iter().all(|r| r.0.is_ipv6() == ipv6) =>
                    {
                        Test::Address { source, ranges }
                    }
                    Ok(_) => return Match::Unknown(Fixed),
                    Err(Empty) => return never(holds),
                };
                Match::When(vec![Condition { test, holds }])
            }
            ("ip", "protocol") | ("ip6", "nexthdr") => self.protocols(left, right, holds),
            ("tcp" | "udp" | "th", "sport" | "dport") => {
                self.port(field == "sport", left, right, holds)
            }
            ("tcp", "flags") if !matches!(right, Value::Number(_)) => flags(&words(right), holds),
            _ => self.unknown(left, right),
        }
    }

    fn port(&mut self, source: bool, left: &Value, right: &Value, holds: bool) -> Match {
        match self.ranges(left, right, port_range) {
            Some(Ok(ranges)) if self.knows_addresses() => {
                when(Test::Port { source, ranges }, holds)
            }
            Some(Err(Empty)) => never(holds),
            Some(Ok(_)) | None => self.unknown(left, right),
        }
    }

    /// Evaluates a match on protocols for TCP and UDP.
    fn protocols(&mut self, left: &Value, right: &Value, holds: bool) -> Match {
        let Some(list) = self.elements(right) else { return self.unknown(left, right) };
        let mut found = [false; 2];
        for element in &list {
            match (element.as_str(), number::<u8>(element)) {
                (Some("tcp"), _) | (_, Some(6)) => found[0] = true,
                (Some("udp"), _) | (_, Some(17)) => found[1] = true,
                (None, None) => return self.unknown(left, right), // A range.
                (Some(_), _) | (_, Some(_)) => {}
            }
        }
        match found.map(|one| one == holds) {
            [false, false] => Match::Never,
            [true, true] => Match::Always,
            [true, false] => when(Test::Proto(6), true),
            [false, true] => when(Test::Proto(17), true),
        }
    }

    fn families(&mut self, left: &Value, right: &Value, holds: bool) -> Match {
        let Some(list) = self.elements(right) else { return self.unknown(left, right) };
        let is_ip = |one: &Value| matches!(one.as_str(), Some("ip" | "ip6" | "ipv4" | "ipv6"));
        if !(self.is_ip() || holds && list.iter().all(is_ip)) {
            return Match::Unknown(Fixed);
        }
        let has = |names: [&str; 2]| {
            list.iter().any(|one| one.as_str().is_some_and(|one| names.contains(&one))) == holds
        };
        match [has(["ipv4", "ip"]), has(["ipv6", "ip6"])] {
            [true, true] => Match::Always,
            [false, false] => Match::Never,
            [_, ipv6] => when(Test::Ipv6, ipv6),
        }
    }

    fn device(&mut self, leaving: bool, left: &Value, right: &Value, holds: bool) -> Match {
        let Some(list) = self.elements(right) else { return self.unknown(left, right) };
        let names: Option<Vec<String>> =
            list.iter().map(|one| one.as_str().map(str::to_owned)).collect();
        let Some(names) = names.filter(|_| self.is_ip()) else { return Match::Unknown(Fixed) };
        let single = names.len() == 1;
        let writable = |name: &String| match name.strip_suffix('*') {
            Some(begin) => single && config::is_device_name(begin),
            None => config::is_device_name(name),
        };
        if names.is_empty() {
            return never(holds);
        }
        if !names.iter().all(writable) || (leaving && self.place.is_prerouting()) {
            return Match::Unknown(Fixed);
        }
        when(Test::Device { leaving, names }, holds)
    }

    /// Evaluates `{"&": [left, mask]}`.
    fn masked(&mut self, parts: &[Value], left: &Value, right: &Value, holds: bool) -> Match {
        let [of, mask] = parts else { return Match::Unknown(Varies) };
        let key = |kind: &str, key: &str| of.get(kind).map(|found| text(found, key).to_owned());
        if key("ct", "key").as_deref() == Some("mark")
            && let Some(mask) = number(mask)
        {
            return mark(mask, right, holds);
        }
        if key("payload", "protocol").as_deref() == Some("tcp")
            && key("payload", "field").as_deref() == Some("flags")
        {
            return masked_flags(&words(mask), right, holds);
        }
        self.unknown(left, right)
    }

    /// Evaluates `<` and `<=` of packet counts, and `!` (none of these bits is set).
    fn other_operator(&mut self, op: &str, left: &Value, right: &Value) -> Match {
        let of = |kind: &str, field: &str| left.get(kind).map_or("", |found| text(found, field));
        let key = if self.is_tracked() { of("ct", "key") } else { "" };
        let counts = key == "packets" && left["ct"].get("dir").is_none();
        match (op, number(right)) {
            ("!", _) if key == "state" => never(words(right).contains(&"established")),
            ("!", _) if of("payload", "field") == "flags" => match words(right).as_slice() {
                none if none.contains(&"ack") => Match::Never,
                none if none.iter().all(|flag| is_slow(flag)) => Match::Always,
                _ => Match::Unknown(Varies),
            },
            ("<", Some(limit)) if counts => when(Test::FewerPackets(limit), true),
            ("<=", Some(limit)) if counts && limit < u32::MAX => {
                when(Test::FewerPackets(limit + 1), true)
            }
            _ => self.unknown(left, right),
        }
    }

    /// Returns the values on the right side; `None` if they are unknown.
    fn elements(&mut self, right: &Value) -> Option<Vec<Value>> {
        let list = if let Some(name) = right.as_str().and_then(|text| text.strip_prefix('@')) {
            let name = (self.family.to_owned(), self.table.to_owned(), name.to_owned());
            self.looked_up.insert(name.clone());
            match self.sets.get(&name) {
                Some(SetInfo {
                    elements: Elements::Known(list),
                    dynamic: false,
                    expires: false,
                    ..
                }) => list.clone(),
                _ => return None,
            }
        } else {
            match right.get("set") {
                Some(Value::Array(list)) => list.clone(),
                Some(one) => vec![one.clone()],
                None => vec![right.clone()],
            }
        };
        let value = |one: Value| match one.get("elem").and_then(|elem| elem.get("val")) {
            Some(value) => value.clone(),
            None => one,
        };
        let list: Vec<Value> = list.into_iter().map(value).collect();
        (!list.iter().any(is_catch_all)).then_some(list)
    }

    /// Returns the ranges on the right side, or [`Empty`]; `None` if they are unknown.
    fn ranges<T>(
        &mut self,
        left: &Value,
        right: &Value,
        range: fn(&Value) -> Option<T>,
    ) -> Option<Result<Vec<T>, Empty>> {
        left.get("payload")?;
        let list = self.elements(right)?;
        let ranges: Vec<T> = list.iter().map(range).collect::<Option<_>>()?;
        Some(if ranges.is_empty() { Err(Empty) } else { Ok(ranges) })
    }

    pub(super) fn unknown(&mut self, left: &Value, right: &Value) -> Match {
        let set = match right.as_str().and_then(|text| text.strip_prefix('@')) {
            None => Fixed,
            Some(name) => {
                let name = (self.family.to_owned(), self.table.to_owned(), name.to_owned());
                match self.sets.get(&name) {
                    Some(SetInfo { dynamic: true, .. }) | None => Varies,
                    Some(SetInfo { expires: true, .. }) => Expires,
                    Some(_) => Fixed,
                }
            }
        };
        Match::Unknown(steadiness(left).max(steadiness(right)).max(set))
    }
}

/// Returns the condition implied by the header that an expression reads.
pub(super) fn implied(expression: &Value) -> Match {
    if let Some(Value::Array(parts)) = expression.get("&") {
        return parts.first().map_or(Match::Always, implied);
    }
    let payload = expression.get("payload").filter(|payload| !is_inner(payload));
    let header = payload.map_or("", |payload| text(payload, "protocol"));
    match header {
        "ip" => when(Test::Ipv6, false),
        "ip6" => when(Test::Ipv6, true),
        "tcp" => when(Test::Proto(6), true),
        "udp" => when(Test::Proto(17), true),
        "icmp" | "icmpv6" | "igmp" | "arp" | "sctp" | "dccp" | "esp" | "ah" | "comp"
        | "udplite" | "gre" => Match::Never,
        _ => Match::Always,
    }
}

fn is_inner(payload: &Value) -> bool {
    payload.get("tunnel").is_some()
}

struct Empty;

fn never(holds: bool) -> Match {
    if holds { Match::Never } else { Match::Always }
}

fn when(test: Test, holds: bool) -> Match {
    Match::When(vec![Condition { test, holds }])
}

fn mark(mask: u32, right: &Value, holds: bool) -> Match {
    match number(right) {
        Some(value) => when(Test::Mark { mask, value }, holds),
        None => Match::Unknown(Fixed),
    }
}

/// Reports whether packets with this flag stay on the slow path. All other packets have ACK.
fn is_slow(flag: &str) -> bool {
    matches!(flag, "syn" | "fin" | "rst")
}

/// Evaluates a list of flags, of which at least one must be set.
fn flags(any: &[&str], holds: bool) -> Match {
    let never_set = !any.is_empty() && any.iter().all(|flag| is_slow(flag));
    if never_set { never(holds) } else { Match::Unknown(Varies) }
}

fn masked_flags(mask: &[&str], right: &Value, holds: bool) -> Match {
    let value = words(right);
    if value.is_empty() && right.as_u64() != Some(0) {
        return Match::Unknown(Varies);
    }
    let has_ack = |flags: &[&str]| flags.contains(&"ack");
    if value.iter().any(|flag| is_slow(flag)) || has_ack(mask) != has_ack(&value) {
        return never(holds);
    }
    let steady = mask.iter().all(|flag| is_slow(flag) || *flag == "ack");
    if steady { never(!holds) } else { Match::Unknown(Varies) }
}

pub(super) fn steadiness(expression: &Value) -> Steadiness {
    let Value::Object(fields) = expression else { return Fixed };
    let of = |(kind, value): (&String, &Value)| match kind.as_str() {
        "meta" => meta_steadiness(text(value, "key")),
        "ct" => match text(value, "key") {
            "mark" | "status" | "zone" | "id" | "label" | "l3proto" | "protocol" | "saddr"
            | "daddr" | "ip saddr" | "ip daddr" | "ip6 saddr" | "ip6 daddr" | "proto-src"
            | "proto-dst" | "helper" | "direction" => Fixed,
            _ => Varies,
        },
        "payload" if is_inner(value) => Varies,
        "payload" => match (text(value, "protocol"), text(value, "field")) {
            ("ether", _)
            | ("vlan", "id" | "type")
            | ("ip" | "ip6", "saddr" | "daddr" | "protocol" | "nexthdr")
            | ("tcp" | "udp" | "th", "sport" | "dport") => Fixed,
            _ => Varies,
        },
        "fib" | "rt" | "ipsec" | "set" | "prefix" | "range" => Fixed,
        "concat" | "&" | "|" | "^" | "<<" | ">>" => {
            value.as_array().into_iter().flatten().map(steadiness).max().unwrap_or(Varies)
        }
        _ => Varies,
    };
    fields.iter().map(of).max().unwrap_or(Varies)
}

fn meta_steadiness(key: &str) -> Steadiness {
    match key {
        "mark" | "protocol" | "nfproto" | "l4proto" | "iif" | "iifname" | "iiftype" | "iifkind"
        | "iifgroup" | "oif" | "oifname" | "oiftype" | "oifkind" | "oifgroup" | "ibrname"
        | "obrname" | "ibridgename" | "obridgename" | "ibrpvid" | "ibrvproto" | "skuid"
        | "skgid" | "cgroup" | "secpath" | "ipsec" | "sdif" | "sdifname" => Fixed,
        _ => Varies,
    }
}
