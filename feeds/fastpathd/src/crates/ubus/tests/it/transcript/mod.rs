// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the recordings in `tests/recorded`. Each line of a recording has the direction and the
//! hexadecimal bytes of one read from the socket.

use std::path::Path;

use ubus::{Decoder, Frame};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    ToUbusd,
    FromUbusd,
}

pub(crate) struct Transcript {
    pub(crate) name: String,
    pub(crate) reads: Vec<(Direction, Vec<u8>)>,
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

impl Transcript {
    pub(crate) fn read(name: &str) -> Transcript {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<(String, String)> = serde_json::from_str(&text).unwrap();
        let direction = |arrow: &str| match arrow {
            ">" => Direction::ToUbusd,
            _ => Direction::FromUbusd,
        };
        let reads = lines.iter().map(|(arrow, bytes)| (direction(arrow), hex(bytes))).collect();
        Transcript { name: name.to_owned(), reads }
    }

    pub(crate) fn frames(&self) -> Vec<(Direction, Frame, Vec<u8>)> {
        [Direction::ToUbusd, Direction::FromUbusd].into_iter().flat_map(|d| self.side(d)).collect()
    }

    fn side(&self, direction: Direction) -> Vec<(Direction, Frame, Vec<u8>)> {
        let reads = self.reads.iter().filter(|(d, _)| *d == direction);
        let stream: Vec<u8> = reads.flat_map(|(_, bytes)| bytes.clone()).collect();
        let mut decoder = Decoder::default();
        let (mut frames, mut rest) = (Vec::new(), &stream[..]);
        decoder.extend(&stream);
        while let Some(frame) = decoder.next_frame().unwrap() {
            let len = 8 + usize::from(rest[10]) * 256 + usize::from(rest[11]);
            let (bytes, after) = rest.split_at(len.next_multiple_of(4));
            frames.push((direction, frame, bytes.to_vec()));
            rest = after;
        }
        assert!(rest.is_empty(), "{}: {} bytes left", self.name, rest.len());
        frames
    }
}

pub(crate) fn all() -> Vec<Transcript> {
    (1..=13).map(|number| Transcript::read(&format!("{number:03}.json"))).collect()
}
