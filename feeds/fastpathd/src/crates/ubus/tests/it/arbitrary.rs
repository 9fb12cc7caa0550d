// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the codec with arbitrary bytes and values.

use crate::transcript;
use proptest::prelude::*;
use serde_json::Value;
use ubus::{Blobmsg, Decoder, EncodeError, MAX_DEPTH, MAX_MESSAGE, Map};

/// Decodes as many frames of `bytes` as possible, in pieces of `piece` bytes.
fn read(bytes: &[u8], piece: usize) -> Vec<ubus::Frame> {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        decoder.extend(piece);
        while let Ok(Some(frame)) = decoder.next_frame() {
            for table in [frame.data(), frame.signature()].into_iter().flatten() {
                if let Ok(map) = table.decode() {
                    Blobmsg::encode(&map).unwrap();
                }
            }
            frames.push(frame);
        }
    }
    frames
}

fn text() -> impl Strategy<Value = String> {
    "[^\u{0}]{0,12}"
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn map() -> impl Strategy<Value = Map> {
    prop::collection::vec((text(), value()), 0..8).prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    #[test]
    fn an_encoded_map_is_decoded_unchanged(map in map()) {
        prop_assert_eq!(Blobmsg::encode(&map).unwrap().decode().unwrap(), map);
    }

    #[test]
    fn decodes_or_refuses_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        read(&bytes, 64);
        let _ = Blobmsg::from_wire(&bytes).decode();
    }

    #[test]
    fn decodes_the_same_frames_for_any_split_of_the_stream(piece in 1_usize..200) {
        for transcript in transcript::all() {
            let stream: Vec<u8> = transcript.reads.iter().filter(|(direction, _)| {
                *direction == transcript::Direction::FromUbusd
            }).flat_map(|(_, bytes)| bytes.clone()).collect();
            prop_assert_eq!(read(&stream, piece), read(&stream, stream.len()));
        }
    }
}

/// The generator xorshift64. Its fixed seed makes failures reproducible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

#[test]
fn decodes_or_refuses_mutated_recordings() {
    let mut dice = Dice(0x5eed_0fa5_7a17_0001);
    for transcript in transcript::all() {
        for (_, _, bytes) in transcript.frames() {
            for _ in 0..300 {
                let mut bytes = bytes.clone();
                for _ in 0..=dice.below(4) {
                    let at = dice.below(bytes.len());
                    match dice.below(4) {
                        0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
                        1 => bytes[at] ^= 1 << dice.below(8),
                        2 => bytes.truncate(at.max(1)),
                        _ => bytes.insert(at, [0, 0x7f, 0x80, 0xff][dice.below(4)]),
                    }
                }
                let piece = 1 + dice.below(bytes.len());
                read(&bytes, piece);
            }
        }
    }
}

fn nested(depth: usize) -> Map {
    let wrap = |inner: Map| Map::from_iter([("a".to_owned(), Value::Object(inner))]);
    (1..depth).fold(Map::new(), |inner, _| wrap(inner))
}

#[test]
fn refuses_nesting_beyond_the_limit() {
    let deepest = nested(MAX_DEPTH);
    assert_eq!(Blobmsg::encode(&deepest).unwrap().decode().unwrap(), deepest);
    let too_deep = nested(MAX_DEPTH + 1);
    assert_eq!(Blobmsg::encode(&too_deep), Err(EncodeError::TooDeep));
    // Each table has a four-byte head and an empty name of four bytes.
    let wire = (1..=1000_u32).fold(Vec::new(), |inner: Vec<u8>, level| {
        let head = 0x8200_0000 | (8 * level);
        [&head.to_be_bytes()[..], &[0; 4], &inner].concat()
    });
    assert_eq!(Blobmsg::from_wire(&wire).decode(), Err(ubus::DecodeError::TooDeep));
}

#[test]
fn refuses_to_encode_or_decode_a_message_over_the_limit() {
    let text = |len| Map::from_iter([("a".to_owned(), Value::from("x".repeat(len)))]);
    assert!(Blobmsg::encode(&text(MAX_MESSAGE - 16)).is_ok());
    let refused = Blobmsg::encode(&text(MAX_MESSAGE));
    assert!(matches!(refused, Err(EncodeError::TooLarge { .. })));
    let mut decoder = Decoder::default();
    decoder.extend(&[0, 5, 0, 1, 0, 0, 0, 0, 0, 0x10, 0, 1]);
    assert!(matches!(decoder.next_frame(), Err(ubus::DecodeError::TooLarge { .. })));
}

#[test]
fn refuses_to_encode_a_string_with_a_nul() {
    let map = Map::from_iter([("a".to_owned(), Value::from("x\0y"))]);
    assert!(matches!(Blobmsg::encode(&map), Err(EncodeError::Nul { .. })));
}
