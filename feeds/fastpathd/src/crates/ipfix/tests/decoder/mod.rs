// SPDX-License-Identifier: GPL-2.0-or-later
//! Independent decoder for IPFIX messages (RFC 7011). Panics on missing or trailing bytes.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::net::IpAddr;

pub(crate) const REVERSE: u32 = 29305;

/// IANA elements with addresses.
const ADDRESSES: [u16; 8] = [8, 12, 27, 28, 225, 226, 281, 282];
/// IANA elements with strings.
const STRINGS: [u16; 1] = [82];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Address(IpAddr),
    Text(String),
}

/// Values by enterprise number and element id.
pub(crate) type Record = BTreeMap<(u32, u16), Value>;

type Field = (u32, u16, u16);

#[derive(Debug, Default)]
pub(crate) struct Collector {
    templates: BTreeMap<u16, Vec<Field>>,
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(length);
        self.0 = tail;
        head
    }

    fn number(&mut self, length: usize) -> u64 {
        self.take(length).iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn short(&mut self) -> u16 {
        u16::try_from(self.number(2)).expect("16 bits")
    }

    fn long(&mut self) -> u32 {
        u32::try_from(self.number(4)).expect("32 bits")
    }
}

pub(crate) fn sequence(message: &[u8]) -> u32 {
    Bytes(&message[8..]).long()
}

impl Collector {
    /// Decodes templates, and records of known templates.
    pub(crate) fn read(&mut self, message: &[u8]) -> Vec<Record> {
        let mut bytes = Bytes(message);
        assert_eq!(bytes.short(), 10, "version");
        assert_eq!(usize::from(bytes.short()), message.len(), "length");
        bytes.take(12);
        let mut records = Vec::new();
        while !bytes.0.is_empty() {
            let (id, length) = (bytes.short(), bytes.short());
            let mut set = Bytes(bytes.take(usize::from(length) - 4));
            while !set.0.is_empty() {
                match id {
                    2 | 3 => self.template(&mut set, id == 3),
                    id => records.push(record(&mut set, &self.templates[&id])),
                }
            }
        }
        records
    }

    fn template(&mut self, set: &mut Bytes<'_>, options: bool) {
        let (id, count) = (set.short(), set.short());
        assert!(id >= 256, "{id}");
        if options {
            let scope = set.short();
            assert!((1..=count).contains(&scope), "{scope}");
        }
        let mut fields = Vec::new();
        for _ in 0..count {
            let (element, length) = (set.short(), set.short());
            let enterprise = if element & 0x8000 == 0 { 0 } else { set.long() };
            fields.push((enterprise, element & 0x7fff, length));
        }
        self.templates.insert(id, fields);
    }
}

fn record(set: &mut Bytes<'_>, fields: &[Field]) -> Record {
    let mut record = Record::new();
    for (enterprise, element, length) in fields {
        let length = match *length {
            u16::MAX => match set.number(1) {
                255 => usize::from(set.short()),
                short => usize::try_from(short).expect("a byte"),
            },
            fixed => usize::from(fixed),
        };
        let own = ![0, REVERSE].contains(enterprise);
        let value = set.take(length);
        let value = if *enterprise == 0 && ADDRESSES.contains(element) {
            Value::Address(match value.len() {
                4 => IpAddr::from(<[u8; 4]>::try_from(value).expect("4")),
                _ => IpAddr::from(<[u8; 16]>::try_from(value).expect("16")),
            })
        } else if (own && *element > 101) || (*enterprise == 0 && STRINGS.contains(element)) {
            Value::Text(String::from_utf8(value.to_vec()).expect("UTF-8"))
        } else {
            assert!(value.len() <= 8, "{element}");
            Value::Number(Bytes(value).number(value.len()))
        };
        record.insert((*enterprise, *element), value);
    }
    record
}
