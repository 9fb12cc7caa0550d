// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts keys and entries to and from their binary form in `layout.rs`.

use std::net::IpAddr;

use crate::entry::{Entry, Key};
use crate::entry_side::{Encapsulation, Tag};
use crate::layout::{
    self, Entry4, Entry6, FLOW_BEST_EFFORT, FLOW_DROP, FLOW_NAT, FLOW_PLAIN, FLOW_PPPOE,
    HEADER_MAX, Key4, Key6, TAG_8021AD, TAG_PRESENT,
};

fn tag(tag: Option<Tag>) -> u16 {
    tag.map_or(0, |tag| {
        let service = if tag.service { TAG_8021AD } else { 0 };
        (tag.vid & 0xfff) | TAG_PRESENT | service
    })
}

fn tag_of(word: u16) -> Option<Tag> {
    (word & TAG_PRESENT != 0).then_some(Tag { vid: word & 0xfff, service: word & TAG_8021AD != 0 })
}

fn encap(encap: &Encapsulation) -> layout::Encap {
    layout::Encap {
        outer: tag(encap.outer),
        inner: tag(encap.inner),
        session: encap.session.unwrap_or(0).to_be_bytes(),
    }
}

/// Session 0 means no PPPoE: RFC 2516 reserves it for discovery.
fn encapsulation(encap: layout::Encap) -> Encapsulation {
    let session = Some(u16::from_be_bytes(encap.session)).filter(|session| *session != 0);
    Encapsulation { outer: tag_of(encap.outer), inner: tag_of(encap.inner), session }
}

macro_rules! wire {
    ($key:ident, $entry:ident, $version:ident) => {
        impl $key {
            /// Returns `None` for the other family.
            pub(crate) fn of(from: &Key) -> Option<Self> {
                let (IpAddr::$version(src), IpAddr::$version(dst)) = (from.src, from.dst) else {
                    return None;
                };
                Some(Self {
                    src: src.octets(),
                    dst: dst.octets(),
                    sport: from.sport.to_be_bytes(),
                    dport: from.dport.to_be_bytes(),
                    ifindex: from.device,
                    encap: encap(&from.encapsulation),
                    proto: from.proto,
                    port: 0,
                })
            }

            pub(crate) fn key(&self) -> Key {
                Key {
                    src: IpAddr::$version(self.src.into()),
                    dst: IpAddr::$version(self.dst.into()),
                    sport: u16::from_be_bytes(self.sport),
                    dport: u16::from_be_bytes(self.dport),
                    proto: self.proto,
                    device: self.ifindex,
                    encapsulation: encapsulation(self.encap),
                }
            }
        }

        impl $entry {
            /// Returns `None` for the other family or a header that is too long.
            pub(crate) fn of(key: $key, from: &Entry) -> Option<Self> {
                let (IpAddr::$version(src), IpAddr::$version(dst)) = (from.src, from.dst) else {
                    return None;
                };
                Some(Self { e: entry(from)?, src: src.octets(), dst: dst.octets(), key })
            }
        }
    };
}

wire!(Key4, Entry4, V4);
wire!(Key6, Entry6, V6);

/// Returns `None` if the header is too long.
fn entry(from: &Entry) -> Option<layout::Entry> {
    let mut header = [0; HEADER_MAX];
    header.get_mut(..from.header.bytes.len())?.copy_from_slice(&from.header.bytes);
    let flag = |is: bool, bit: u8| if is { bit } else { 0 };
    let fields = |tag: Option<Tag>, priority| {
        tag.map_or((0, [0; 2]), |tag| (tag.tci(priority), tag.protocol().to_be_bytes()))
    };
    let [outer, inner] = from.header.priorities;
    let (outer_tci, outer_proto) = fields(from.header.outer, outer);
    let (inner_tci, inner_proto) = fields(from.header.inner, inner);
    let own = from.own;
    Some(layout::Entry {
        ifindex: from.device,
        mtu: from.mtu,
        flags: flag(from.nat, FLOW_NAT)
            | flag(from.header.pppoe, FLOW_PPPOE)
            | flag(from.header.is_plain(), FLOW_PLAIN)
            | flag(from.best_effort, FLOW_BEST_EFFORT)
            | flag(from.drop.is_some(), FLOW_DROP),
        header_len: u8::try_from(from.header.bytes.len()).ok()?,
        sport: from.sport.to_be_bytes(),
        dport: from.dport.to_be_bytes(),
        outer_tci,
        outer_proto,
        inner_tci,
        inner_proto,
        l3_delta: from.l3_delta,
        address_delta: from.address_delta,
        port_delta: from.port_delta,
        l4_delta: from.l4_delta,
        back: encap(&from.back.1),
        back_ifindex: from.back.0,
        own_end: [own[2], own[3], own[4], own[5]],
        own_begin: [own[0], own[1]],
        waiting: 1,
        header,
        ..layout::Entry::default()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::Header;

    fn any_tag() -> impl Strategy<Value = Option<Tag>> {
        proptest::option::of((0_u16..4095, any::<bool>()))
            .prop_map(|tag| tag.map(|(vid, service)| Tag { vid, service }))
    }

    fn any_encapsulation() -> impl Strategy<Value = Encapsulation> {
        (any_tag(), any_tag(), proptest::option::of(1_u16..))
            .prop_map(|(outer, inner, session)| Encapsulation { outer, inner, session })
    }

    fn any_key() -> impl Strategy<Value = Key> {
        let ends = prop_oneof![
            any::<[[u8; 4]; 2]>().prop_map(|ends| ends.map(IpAddr::from)),
            any::<[[u8; 16]; 2]>().prop_map(|ends| ends.map(IpAddr::from)),
        ];
        let rest = (any::<(u16, u16, u8, u32)>(), any_encapsulation());
        (ends, rest).prop_map(|([src, dst], ((sport, dport, proto, device), encap))| Key {
            src,
            dst,
            sport,
            dport,
            proto,
            device,
            encapsulation: encap,
        })
    }

    proptest! {
        #[test]
        fn keys_round_trip(key in any_key()) {
            let four = Key4::of(&key).map(|wire| wire.key());
            let six = Key6::of(&key).map(|wire| wire.key());
            prop_assert_eq!(four.is_some(), key.src.is_ipv4());
            prop_assert_eq!(four.or(six), Some(key));
        }
    }

    #[test]
    fn writes_entries_in_the_layout_of_the_programs() {
        let tag = |vid| Some(Tag { vid, service: vid == 35 });
        let header = Header {
            bytes: vec![7; 22],
            outer: tag(35),
            inner: tag(36),
            priorities: [5, 1],
            pppoe: true,
        };
        let back = Encapsulation { outer: tag(20), inner: None, session: Some(0x1234) };
        let from = Entry {
            device: 5,
            mtu: 1492,
            header,
            nat: true,
            src: [198, 51, 100, 7].into(),
            dst: [203, 0, 113, 9].into(),
            sport: 40_001,
            dport: 443,
            l3_delta: 1,
            address_delta: 2,
            port_delta: 3,
            l4_delta: 4,
            back: (5, back),
            own: [1, 2, 3, 4, 5, 6],
            best_effort: true,
            drop: Some(4711),
        };
        assert!(Entry6::of(Key6::default(), &from).is_none());
        let key = Key4 { proto: 17, ..Key4::default() };
        let wire = Entry4::of(key, &from).unwrap();
        assert_eq!(wire.key, key);
        assert_eq!((wire.src, wire.dst), ([198, 51, 100, 7], [203, 0, 113, 9]));
        let e = wire.e;
        assert_eq!((e.ifindex, e.mtu, e.flags, e.header_len), (5, 1492, 7 | FLOW_BEST_EFFORT, 22));
        assert_eq!((e.sport, e.dport), ([0x9c, 0x41], [0x01, 0xbb]));
        assert_eq!((e.outer_tci, e.outer_proto), (0xa023, [0x88, 0xa8]));
        assert_eq!((e.inner_tci, e.inner_proto), (0x2024, [0x81, 0x00]));
        assert_eq!((e.l3_delta, e.address_delta, e.port_delta, e.l4_delta), (1, 2, 3, 4));
        assert_eq!((e.back.outer, e.back.inner, e.back.session), (0x1014, 0, [0x12, 0x34]));
        assert_eq!((e.back_ifindex, e.own_begin, e.own_end), (5, [1, 2], [3, 4, 5, 6]));
        assert_eq!((e.waiting, e.ended), (1, 0));
        assert_eq!((e.header[21], e.header[22]), (7, 0));
        for (length, outer, flags) in [(14, None, 8), (14, tag(35), 0), (18, None, 0)] {
            let bytes = vec![7; length];
            let header = Header { bytes, outer, inner: None, priorities: [0; 2], pppoe: false };
            let from = Entry { header, nat: false, drop: None, best_effort: false, ..from.clone() };
            let wire = Entry4::of(key, &from).unwrap();
            assert_eq!(wire.e.flags, flags, "{length} {outer:?}");
        }
        let long = Header { bytes: vec![0; HEADER_MAX + 2], ..from.header.clone() };
        assert!(Entry4::of(key, &Entry { header: long, ..from }).is_none());
    }
}
