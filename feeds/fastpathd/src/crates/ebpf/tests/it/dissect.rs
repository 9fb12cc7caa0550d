// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks frames with tshark, independently of our parser.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::frame::{Link, Tuple};

const FIELDS: [&str; 19] = [
    "eth.dst",
    "eth.src",
    "vlan.id",
    "ieee8021ad.id",
    "pppoe.session_id",
    "pppoe.payload_length",
    "ip.src",
    "ip.dst",
    "ip.ttl",
    "ip.checksum.status",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.hlim",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "tcp.checksum.status",
    "udp.checksum.status",
];

/// Protocols that tshark dissects. Payloads are arbitrary text.
const LAYERS: [&str; 10] =
    ["eth", "ethertype", "vlan", "ieee8021ad", "pppoes", "ppp", "ip", "ipv6", "tcp", "udp"];

/// Expected field values of a frame.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) tuple: Tuple,
    pub(crate) tcp: bool,
    pub(crate) ttl: u8,
    /// UDP without a checksum.
    pub(crate) unchecked: bool,
    pub(crate) ip_length: usize,
}

impl Expected {
    fn row(&self) -> Vec<String> {
        let mac = |m: [u8; 6]| m.map(|b| format!("{b:02x}")).join(":");
        let tags = |proto| {
            let ids = self.link.tags.iter().filter(|t| t.proto == proto);
            ids.map(|t| (t.tci & 0xfff).to_string()).collect::<Vec<_>>().join(",")
        };
        let session = self.link.session.map(|s| format!("0x{s:04x}")).unwrap_or_default();
        let carried = self.link.session.map(|_| (self.ip_length + 2).to_string());
        let mut row = vec![
            mac(self.link.dst),
            mac(self.link.src),
            tags(0x8100),
            tags(0x88a8),
            session,
            carried.unwrap_or_default(),
        ];
        let none = || String::new();
        let tuple = &self.tuple;
        let ends = [tuple.src.to_string(), tuple.dst.to_string(), self.ttl.to_string()];
        if tuple.is_v6() {
            row.extend([none(), none(), none(), none()]);
            row.extend(ends);
        } else {
            row.extend(ends);
            row.extend(["1".into(), none(), none(), none()]);
        }
        let ports = [tuple.sport.to_string(), tuple.dport.to_string()];
        let empty = [none(), none()];
        row.extend(if self.tcp { ports.clone() } else { empty.clone() });
        row.extend(if self.tcp { empty } else { ports });
        // tshark's checksum status: 1 is good, 3 is not present.
        let good = if self.unchecked { "3" } else { "1" }.to_owned();
        row.extend(if self.tcp { [good, none()] } else { [none(), good] });
        row
    }
}

/// Checks all frames with one tshark run.
pub(crate) fn check(frames: &[(Vec<u8>, Expected)]) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "forwarded.{}.{:p}.pcap",
        std::process::id(),
        frames
    ));
    write_pcap(&path, frames.iter().map(|(bytes, _)| bytes.as_slice()));
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(&path);
    for layer in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    // Frames of different cases share a tuple but do not form a TCP stream.
    tshark.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    for layer in other_layers() {
        tshark.args(["--disable-protocol", &layer]);
    }
    tshark.args(["-T", "fields", "-E", "separator=|", "-e", "_ws.malformed", "-e", "_ws.expert"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = String::from_utf8(output.stdout).expect("text");
    assert_eq!(read.lines().count(), frames.len(), "tshark reads all frames");
    for (line, (bytes, expected)) in read.lines().zip(frames) {
        let cells: Vec<&str> = line.split('|').collect();
        let name = &expected.name;
        assert_eq!(cells[..2], ["", ""], "{name}: malformed or remarkable: {line}, {bytes:02x?}");
        for ((field, cell), wanted) in FIELDS.iter().zip(&cells[2..]).zip(expected.row()) {
            assert_eq!(*cell, wanted, "{name}: {field} in {line}");
        }
    }
    std::fs::remove_file(path).expect("removed");
}

/// Returns the protocols to disable. tshark would guess them from ports and payloads.
fn other_layers() -> Vec<String> {
    let listed = Command::new("tshark").args(["-G", "protocols"]).output().expect("tshark runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names = listed.lines().filter_map(|line| line.split('\t').nth(2));
    let ours = |name: &&str| LAYERS.contains(name) || *name == "data" || *name == "frame";
    names.filter(|name| !ours(name)).map(str::to_owned).collect()
}

fn write_pcap<'a>(path: &std::path::Path, frames: impl Iterator<Item = &'a [u8]>) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("a file"));
    let mut put = |bytes: &[u8]| file.write_all(bytes).expect("written");
    put(&0xa1b2_c3d4_u32.to_ne_bytes());
    put(&[2_u16.to_ne_bytes(), 4_u16.to_ne_bytes()].concat());
    // Time zone, accuracy, snapshot length, link type Ethernet.
    for word in [0_u32, 0, 0x4_0000, 1] {
        put(&word.to_ne_bytes());
    }
    for (second, frame) in (0_u32..).zip(frames) {
        let length = u32::try_from(frame.len()).expect("short");
        for word in [second, 0, length, length] {
            put(&word.to_ne_bytes());
        }
        put(frame);
    }
}
