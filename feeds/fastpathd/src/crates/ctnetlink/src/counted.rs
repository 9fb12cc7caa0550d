// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads counters from nftables sets with `ct id` as their key.

use netlink::{DUMP, Dump, Protocol, REQUEST, RequestError, attribute, attributes, push_attribute};

use crate::entry::Counters;
use crate::revision::{HEADER, SUBSYSTEM, text};

const GETSETELEM: u16 = SUBSYSTEM | 0x0d;

const ENOENT: i32 = 2;

// `NFTA_SET_ELEM_LIST_*`.
const TABLE: u16 = 1;
const SET: u16 = 2;
const ELEMENTS: u16 = 3;

/// Returns connection ID and counters of each set element, or `None` if the set does not exist.
/// Needs `CAP_NET_ADMIN` and a tokio runtime.
pub async fn counted(
    family: u8,
    table: &str,
    set: &str,
) -> Result<Option<Vec<(u32, Counters)>>, RequestError> {
    dump(family, table, set, counted_element).await
}

/// Returns the elements of a set of type `mark`, or `None` if the set does not exist. Needs
/// `CAP_NET_ADMIN` and a tokio runtime.
pub async fn marks(family: u8, table: &str, set: &str) -> Result<Option<Vec<u32>>, RequestError> {
    dump(family, table, set, |one| key(one).map(u32::from_ne_bytes)).await
}

async fn dump<T>(
    family: u8,
    table: &str,
    set: &str,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<Vec<T>>, RequestError> {
    let mut request = vec![family, 0, 0, 0];
    push_attribute(&mut request, TABLE, &[table.as_bytes(), b"\0"].concat());
    push_attribute(&mut request, SET, &[set.as_bytes(), b"\0"].concat());
    let mut dump = Dump::open(Protocol::Netfilter)?;
    dump.start(|seq| netlink::message(GETSETELEM, REQUEST | DUMP, seq, &request))?;
    let mut found = Vec::new();
    loop {
        match dump.next(|message| elements(message.payload, &read, &mut found)).await {
            Ok(true) => {}
            Ok(false) => return Ok(Some(found)),
            Err(error) if error.refused() == Some(ENOENT) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn elements<T>(payload: &[u8], read: impl Fn(&[u8]) -> Option<T>, found: &mut Vec<T>) {
    let list = payload.get(HEADER..).and_then(|content| attribute(content, ELEMENTS));
    found.extend(attributes(list.unwrap_or_default()).filter_map(|(_, one)| read(one)));
}

/// Returns the four-byte key of an element.
fn key(one: &[u8]) -> Option<[u8; 4]> {
    // `NFTA_SET_ELEM_KEY`, `NFTA_DATA_VALUE`.
    const KEY: u16 = 1;
    const VALUE: u16 = 1;
    attribute(attribute(one, KEY)?, VALUE)?.try_into().ok()
}

fn counted_element(one: &[u8]) -> Option<(u32, Counters)> {
    // `NFTA_SET_ELEM_*`.
    const EXPRESSION: u16 = 7;
    const EXPRESSIONS: u16 = 11;
    let id = key(one)?;
    let several = attributes(attribute(one, EXPRESSIONS).unwrap_or_default());
    let mut all = attribute(one, EXPRESSION).into_iter().chain(several.map(|(_, each)| each));
    Some((u32::from_be_bytes(id), all.find_map(counters)?))
}

/// Returns the counters of an expression, or `None` if it is not a counter.
fn counters(expression: &[u8]) -> Option<Counters> {
    // `NFTA_EXPR_*`.
    const NAME: u16 = 1;
    const DATA: u16 = 2;
    // `NFTA_COUNTER_*`.
    const BYTES: u16 = 1;
    const PACKETS: u16 = 2;
    let data = attribute(expression, DATA)?;
    let number = |kind| Some(u64::from_be_bytes(attribute(data, kind)?.try_into().ok()?));
    let is_counter = attribute(expression, NAME).map(text) == Some(b"counter");
    is_counter.then(|| Some(Counters { packets: number(PACKETS)?, bytes: number(BYTES)? }))?
}

#[cfg(test)]
mod tests {
    use netlink::push_nested;

    use super::*;

    fn nested(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_nested(&mut bytes, kind, |nest| nest.extend(parts.concat()));
        bytes
    }

    fn plain(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_attribute(&mut bytes, kind, value);
        bytes
    }

    fn expression(kind: u16, name: &[u8], packets: u64, bytes: u64) -> Vec<u8> {
        let data = [plain(1, &bytes.to_be_bytes()), plain(2, &packets.to_be_bytes())];
        nested(kind, &[plain(1, name), nested(2, &data)])
    }

    fn one(id: u32, expressions: Vec<u8>) -> Vec<u8> {
        nested(1, &[nested(1, &[plain(1, &id.to_be_bytes())]), plain(4, &[0; 8]), expressions])
    }

    #[test]
    fn reads_counters_alone_or_among_other_expressions() {
        let several =
            [expression(1, b"limit\0", 0, 0), expression(1, b"counter\0", 3, 400)].to_vec();
        let list = nested(
            ELEMENTS,
            &[
                one(7, expression(7, b"counter\0", 1, 52)),
                one(0xfedc_ba98, nested(11, &several)),
                one(9, expression(7, b"limit\0", 1, 1)),
                plain(1, &[1]),
            ],
        );
        let payload = [vec![1, 0, 0, 0], plain(TABLE, b"t\0"), list].concat();
        let mut found = Vec::new();
        elements(&payload, counted_element, &mut found);
        let counters = |packets, bytes| Counters { packets, bytes };
        assert_eq!(found, [(7, counters(1, 52)), (0xfedc_ba98, counters(3, 400))]);
        elements(&payload[..9], counted_element, &mut found);
        assert_eq!(found.len(), 2, "cut short");
    }
}
