// SPDX-License-Identifier: GPL-2.0-or-later
//! Which sources are proven: the real Suricata reads true and forged connections, with the
//! installed rules of handshakes, and we read its alerts.

use std::fs;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;

use ips::{Event, read_event};

use crate::common::{Case, folder, handshake, run, settings, suricata, threads};

const RULES: &str =
    "drop tcp any any -> any any (msg:\"T\"; content:\"wicked\"; sid:8199001; rev:1;)
drop udp any any -> any any (msg:\"U\"; content:\"wicked\"; sid:8199002; rev:1;)
";

const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A packet between the host of the case (`true`: from it) and the server.
enum Packet {
    Tcp(bool, u8, [u32; 2], &'static str),
    Udp(bool, &'static str),
}
use Packet::{Tcp, Udp};

struct Talk {
    what: &'static str,
    packets: Vec<Packet>,
    proven: bool,
}

fn talks() -> Vec<Talk> {
    let talk = |what, proven, packets| Talk { what, packets, proven };
    let opened = |last| {
        let (syn, both) = (Tcp(true, SYN, [10, 0], ""), Tcp(false, SYN | ACK, [50, 11], ""));
        vec![syn, both, last]
    };
    let then = |mut packets: Vec<Packet>, more: Vec<Packet>| {
        packets.extend(more);
        packets
    };
    let whole = || opened(Tcp(true, ACK, [11, 51], ""));
    let sent = |numbers| Tcp(true, ACK, numbers, "wicked");
    vec![
        talk("whole", true, then(whole(), vec![sent([11, 51])])),
        talk("with the third segment", true, opened(sent([11, 51]))),
        talk(
            "the server, which speaks first",
            true,
            then(whole(), vec![Tcp(false, ACK, [51, 11], "wicked")]),
        ),
        talk(
            "picked up in the middle",
            false,
            vec![Tcp(true, ACK, [10, 50], "a"), Tcp(false, ACK, [50, 11], "b"), sent([11, 51])],
        ),
        talk(
            "a forged segment is answered with a reset",
            false,
            vec![Tcp(true, ACK, [10, 50], ""), Tcp(false, RST, [50, 0], ""), sent([10, 50])],
        ),
        talk("the second segment was not received", false, opened(sent([11, 900_000]))),
        talk(
            "a guess of the number, and another",
            false,
            then(opened(Tcp(true, ACK, [11, 7], "")), vec![sent([11, 8])]),
        ),
        talk(
            "first a segment in the middle",
            false,
            then(
                vec![Tcp(true, ACK, [9, 50], "x"), Tcp(false, RST, [50, 0], "")],
                opened(sent([11, 900_000])),
            ),
        ),
        talk(
            "both begin",
            false,
            vec![
                Tcp(true, SYN, [10, 0], ""),
                Tcp(false, SYN, [50, 0], ""),
                Tcp(true, SYN | ACK, [10, 51], ""),
                sent([11, 51]),
            ],
        ),
        talk(
            "a datagram after an answer",
            false,
            vec![Udp(true, "a"), Udp(false, "b"), Udp(true, "wicked")],
        ),
    ]
}

/// As a capture of raw IP packets.
fn capture(talks: &[Talk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 101] {
        bytes.extend(word.to_le_bytes());
    }
    let mut at = 0_u32;
    for (case, talk) in (1_u8..).zip(talks) {
        for packet in &talk.packets {
            let (from_host, protocol, body) = body(packet);
            let mut ip = vec![0x45, 0];
            ip.extend(u16::try_from(body.len() + 20).expect("short").to_be_bytes());
            ip.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
            let mut ends = [[198, 51, 100, case], [10, 0, 0, 1]];
            if !from_host {
                ends.reverse();
            }
            ip.extend(ends.concat());
            ip.extend(body);
            at += 500;
            let length = u32::try_from(ip.len()).expect("short");
            for word in [1_700_000_000, at, length, length] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(ip);
        }
    }
    bytes
}

fn body(packet: &Packet) -> (bool, u8, Vec<u8>) {
    let (from_host, text) = match packet {
        Tcp(from_host, _, _, text) | Udp(from_host, text) => (*from_host, text),
    };
    let mut ports = [4000_u16, 53];
    if !from_host {
        ports.reverse();
    }
    let mut body: Vec<u8> = ports.into_iter().flat_map(u16::to_be_bytes).collect();
    let protocol = match packet {
        Tcp(_, flags, numbers, _) => {
            body.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
            body.extend([0x50, *flags, 0xff, 0xff, 0, 0, 0, 0]);
            6
        }
        Udp(..) => {
            body.extend(u16::try_from(text.len() + 8).expect("short").to_be_bytes());
            body.extend([0, 0]);
            17
        }
    };
    body.extend(text.bytes());
    (from_host, protocol, body)
}

#[test]
fn only_a_seen_handshake_proves_a_source() {
    let Some(program) = suricata() else {
        return;
    };
    let folder = folder("handshake");
    let uci = "config ips 'ips'\noption enabled '1'\noption memory '32'\n";
    let settings = settings(uci).expect("good");
    let mut case = Case { settings, threads: threads(&[0], &[0]), ..Case::default() };
    fs::write(folder.join("our.rules"), RULES).expect("rules");
    case.files.rules = vec![folder.join("our.rules")];
    case.files.handshake = handshake(&folder);
    case.files.events = folder.join("eve.sock");
    case.files.commands = folder.join("command.sock");
    fs::write(folder.join("overlay.yaml"), case.overlay()).expect("overlay");
    let talks = talks();
    fs::write(folder.join("talks.pcap"), capture(&talks)).expect("a capture");
    let listener = UnixListener::bind(&case.files.events).expect("bound");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let (mut stream, _) = listener.accept().expect("Suricata connects");
        stream.read_to_string(&mut text).expect("its events");
        text
    });
    let file = folder.join("talks.pcap").display().to_string();
    let more = ["-r", &file, "--runmode", "single", "-k", "none", "--simulate-ips"];
    let output = run(&program, &folder, &more.map(str::to_owned));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = reader.join().expect("read");
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(Event::Alert(alert)) = read_event(line.as_bytes()) {
            let Some(IpAddr::V4(host)) = [alert.src, alert.dst]
                .into_iter()
                .flatten()
                .find(|end| end.to_string() != "10.0.0.1")
            else {
                panic!("{line}");
            };
            found.push((host.octets()[3], alert.offence.expect(line).proven));
        }
    }
    found.sort_unstable();
    let pair = |(case, proven): &(u8, bool)| (talks[usize::from(*case) - 1].what, *proven);
    let found: Vec<_> = found.iter().map(pair).collect();
    let wanted: Vec<_> = talks.iter().map(|talk| (talk.what, talk.proven)).collect();
    assert_eq!(found, wanted);
    fs::remove_dir_all(&folder).expect("removed");
}
