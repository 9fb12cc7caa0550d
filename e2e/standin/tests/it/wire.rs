// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays recorded messages from the real `ubus` client to ubusd. The stand-in must answer like
//! ubusd, apart from generated ids.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::support::{demo, router::Router};
use serde_json::Value;
use ubus::{Attribute, Blobmsg, Decoder, Frame, Kind};

/// Recorded objects of rpcd's plug-ins, procd and netifd, which the tests ignore.
const OTHERS: [&str; 9] = [
    "file",
    "log",
    "network.device",
    "network.interface",
    "network.wireless",
    "rc",
    "rpc-sys",
    "service",
    "system",
];

fn hex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

/// Returns the frames of a recorded connection with their direction. Joins consecutive reads,
/// because a frame may span several.
fn recorded(name: &str) -> Vec<(bool, Frame)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts/ubus-wire").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let reads: Vec<(String, String)> = serde_json::from_str(&text).unwrap();
    let (mut to, mut from) = (Decoder::default(), Decoder::default());
    let mut frames = Vec::new();
    for (direction, bytes) in reads {
        let ours = direction == ">";
        let decoder = if ours { &mut to } else { &mut from };
        decoder.extend(&hex(&bytes));
        while let Some(frame) = decoder.next_frame().unwrap() {
            frames.push((ours, frame));
        }
    }
    frames
}

/// Maps recorded ids to ours.
#[derive(Default)]
struct Ids(BTreeMap<u32, u32>);

impl Ids {
    fn ours(&self, recorded: u32) -> u32 {
        self.0.get(&recorded).copied().unwrap_or(recorded)
    }

    fn translate(&self, frame: &Frame) -> Frame {
        let attribute = |attribute: &Attribute| match attribute {
            Attribute::ObjectId(id) => Attribute::ObjectId(self.ours(*id)),
            Attribute::ObjectType(id) => Attribute::ObjectType(self.ours(*id)),
            Attribute::Target(id) => Attribute::Target(self.ours(*id)),
            Attribute::Data(data) => Attribute::Data(self.translate_data(data)),
            other => other.clone(),
        };
        Frame {
            peer: self.ours(frame.peer),
            attributes: frame.attributes.iter().map(attribute).collect(),
            ..frame.clone()
        }
    }

    /// Translates object ids in the data of an event.
    fn translate_data(&self, data: &Blobmsg) -> Blobmsg {
        let mut map = data.decode().unwrap();
        for key in ["object", "id"] {
            let id = map.get(key).and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
            if let Some(id) = id {
                map[key] = self.ours(id.cast_unsigned()).cast_signed().into();
            }
        }
        Blobmsg::encode(&map).unwrap()
    }

    /// Maps the ids of a recorded frame to those of our equivalent one.
    fn learn(&mut self, recorded: &Frame, ours: &Frame) {
        let ids = |frame: &Frame| {
            [Some(frame.peer), frame.object_id(), frame.object_type(), frame.target()]
        };
        for (recorded, ours) in ids(recorded).into_iter().zip(ids(ours)) {
            if let (Some(recorded @ 1024..), Some(ours)) = (recorded, ours) {
                self.0.entry(recorded).or_insert(ours);
            }
        }
    }
}

struct Bus {
    stream: UnixStream,
    decoder: Decoder,
}

impl Bus {
    fn next(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                if frame.object_path().is_none_or(|path| !OTHERS.contains(&path)) {
                    return frame;
                }
                continue;
            }
            let mut bytes = [0; 4096];
            let len = self.stream.read(&mut bytes).expect("the stand-in answers");
            assert_ne!(len, 0, "the stand-in hung up");
            self.decoder.extend(&bytes[..len]);
        }
    }
}

fn play(name: &str, router: &Router) {
    let stream = UnixStream::connect(&router.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut bus = Bus { stream, decoder: Decoder::default() };
    let mut ids = Ids::default();
    for (ours, frame) in recorded(name) {
        if ours {
            bus.stream.write_all(&ids.translate(&frame).encode().unwrap()).unwrap();
        } else if frame.object_path().is_none_or(|path| !OTHERS.contains(&path)) {
            let got = bus.next();
            ids.learn(&frame, &got);
            let wanted = ids.translate(&frame);
            // Ignore the sequence number, which depends on all earlier notifications, and the
            // missing request for an acknowledgement.
            let got = if frame.kind == Kind::Invoke {
                let mut attributes = got.attributes;
                attributes.retain(|attribute| *attribute != Attribute::NoReply(true));
                Frame { seq: wanted.seq, attributes, ..got }
            } else {
                got
            };
            assert_eq!(got, wanted, "{name}");
        }
    }
}

#[test]
fn the_recorded_client_gets_the_recorded_answers() {
    let router = Router::start();
    let demo = demo::publish(router.socket.clone(), false);
    // The last recording calls `quit`.
    for number in 2..=13 {
        play(&format!("{number:03}.json"), &router);
    }
    assert!(demo.join().unwrap().is_none(), "quit was called");
}
