// SPDX-License-Identifier: GPL-2.0-or-later
//! Method `ppe`: the entries of a flow in the tables of packet processing engines.

use plugin::{CallReason, Refusal};
use serde_json::{Map, Value, json};

use crate::facts::ppe::tables;
use crate::machine::Machine;
use crate::ppe::{Entry, Flow, entries};

/// Maximum entries of an answer. A table may also have unbound entries of a flow.
const MAX_ENTRIES: usize = 16;

pub(crate) fn find(
    machine: &dyn Machine,
    args: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let flow = Flow::read(|name| args.get(name).unwrap_or(&Value::Null)).map_err(|argument| {
        let reason = match args.get(argument) {
            None | Some(Value::Null) => CallReason::Missing { argument },
            Some(Value::String(text)) => CallReason::value(argument, text),
            Some(other) => CallReason::value(argument, &other.to_string()),
        };
        Refusal::new("argument", reason)
    })?;
    let tables = tables(machine, "entries").map_err(|cause| {
        let code = if cause.code == "file" { "failed" } else { "none" };
        Refusal::new(code, cause)
    })?;
    let view = |table: &str, entry: &Entry| {
        let direction = flow.direction(entry)?;
        Some(json!({
            "table": table, "index": entry.index, "state": entry.state.name(), "kind": entry.kind,
            "direction": direction, "original": entry.original.map(|tuple| tuple.view()),
            "new": entry.new.map(|tuple| tuple.view()),
        }))
    };
    let found: Vec<Value> = tables
        .iter()
        .flat_map(|table| entries(&table.text).filter_map(|entry| view(&table.name, &entry)))
        .take(MAX_ENTRIES)
        .collect();
    Ok(plugin::map([("entries", found.into())]))
}

#[cfg(test)]
mod tests {
    use plugin::Refusal;
    use serde_json::{Value, json};

    use super::find;
    use crate::machine::fake::Fake;
    use crate::ppe::tests::{MEDIATEK, flow};

    fn answer(fake: &Fake, flow: &Value) -> Value {
        Value::Object(find(fake, flow.as_object().unwrap()).unwrap_or_else(Refusal::answer))
    }

    #[test]
    fn returns_the_entries_of_both_directions() {
        let fake = Fake::new()
            .file("/sys/kernel/debug/ppe/packet_counters", "of another driver")
            .file("/sys/kernel/debug/ppe1/entries", MEDIATEK);
        let found = answer(&fake, &flow());
        let end = |src, sport, dst, dport| {
            let (src, dst): (&str, &str) = (src, dst);
            json!({"src": src, "sport": sport, "dst": dst, "dport": dport})
        };
        let (client, wan, server) = ("192.168.1.20", "203.0.113.2", "198.51.100.7");
        let expected = json!([
            {
                "table": "ppe1", "index": 0x123, "state": "BND", "kind": "IPv4 5T",
                "direction": "up", "original": end(client, 50000, server, 443),
                "new": end(wan, 50000, server, 443),
            },
            {
                "table": "ppe1", "index": 0x2b41, "state": "BND", "kind": "IPv4 5T",
                "direction": "down", "original": end(server, 443, wan, 50000),
                "new": end(server, 443, client, 50000),
            },
        ]);
        assert_eq!(found["entries"], expected);
        let mut other = flow();
        other["sport"] = 1.into();
        other["nat_sport"] = 1.into();
        assert_eq!(answer(&fake, &other), json!({"entries": []}));
    }

    #[test]
    fn says_why_there_is_no_table() {
        let code = |fake: &Fake| answer(fake, &flow())["error"]["cause"]["code"].clone();
        assert_eq!(code(&Fake::new()), "no-debugfs");
        assert_eq!(code(&Fake::new().file("/sys/kernel/debug/gpio", "")), "no-table");
        let other = Fake::new().file("/sys/kernel/debug/ppe/packet_counters", "");
        assert_eq!(code(&other), "no-table");
    }

    #[test]
    fn names_an_invalid_argument() {
        let mut invalid = flow();
        invalid["dst"] = "example.org".into();
        let error = &answer(&Fake::new(), &invalid)["error"];
        assert_eq!(
            (&error["code"], &error["cause"]["params"]["argument"]),
            (&json!("argument"), &json!("dst"))
        );
        assert_eq!(answer(&Fake::new(), &json!({}))["error"]["cause"]["code"], "argument-missing");
    }
}
