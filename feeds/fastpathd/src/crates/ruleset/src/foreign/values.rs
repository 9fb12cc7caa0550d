// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses values of matches: words, numbers, ranges of addresses and ports, elements.

use std::net::IpAddr;

use config::Network;
use serde_json::Value;

/// Reports whether an element has a statement that decides per packet.
pub(super) fn has_statement(element: &Value) -> bool {
    let fields = element.get("elem").and_then(Value::as_object).into_iter().flatten();
    fields.map(|(field, _)| &**field).any(|field| {
        !matches!(field, "val" | "comment" | "timeout" | "expires")
            && !is_harmless_of_elements(field)
    })
}

/// Reports whether the statement matches every packet.
pub(super) fn is_harmless_of_elements(kind: &str) -> bool {
    matches!(kind, "counter" | "last")
}

pub(super) fn is_catch_all(element: &Value) -> bool {
    element.as_str() == Some("*")
}

/// Returns the words of a string, of a list, or of strings joined by `|`.
pub(super) fn words(value: &Value) -> Vec<&str> {
    match value {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().flat_map(words).collect(),
        Value::Object(fields) => {
            let lists = ["set", "|"].into_iter().filter_map(|key| fields.get(key));
            lists.flat_map(words).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    value.as_u64().and_then(|number| number.try_into().ok())
}

pub(super) fn address_range(value: &Value) -> Option<(IpAddr, IpAddr)> {
    let address = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
    if let Some(prefix) = value.get("prefix") {
        let len = u8::try_from(prefix.get("len")?.as_u64()?).ok()?;
        let network = Network::of(address(prefix.get("addr")?)?, len)?;
        return Some((network.address, last_of(network)));
    }
    if let Some(Value::Array(ends)) = value.get("range") {
        let [first, last] = ends.as_slice() else { return None };
        return Some((address(first)?, address(last)?));
    }
    address(value).map(|one| (one, one))
}

fn last_of(network: Network) -> IpAddr {
    let prefix = u32::from(network.prefix);
    match network.address {
        IpAddr::V4(first) => {
            IpAddr::V4((first.to_bits() | u32::MAX.checked_shr(prefix).unwrap_or(0)).into())
        }
        IpAddr::V6(first) => {
            IpAddr::V6((first.to_bits() | u128::MAX.checked_shr(prefix).unwrap_or(0)).into())
        }
    }
}

pub(super) fn port_range(value: &Value) -> Option<(u16, u16)> {
    if let Some(Value::Array(ends)) = value.get("range") {
        let [first, last] = ends.as_slice() else { return None };
        return Some((number(first)?, number(last)?));
    }
    number(value).map(|one| (one, one))
}
