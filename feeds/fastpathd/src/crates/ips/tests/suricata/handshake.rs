// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests which sources are proven: the real Suricata reads genuine and forged connections with the
//! installed handshake rules.

use std::net::IpAddr;

use ips::{Event, read_event};

use crate::capture::{ACK, Ends, RST, SYN, events};
use crate::common::suricata;

const RULES: &str =
    "drop tcp any any -> any any (msg:\"T\"; content:\"wicked\"; sid:8199001; rev:1;)
drop udp any any -> any any (msg:\"U\"; content:\"wicked\"; sid:8199002; rev:1;)
";

/// A packet between host and server; `true` if the host sends it.
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
        talk("complete handshake", true, then(whole(), vec![sent([11, 51])])),
        talk("data in the third segment", true, opened(sent([11, 51]))),
        talk(
            "the server sends first",
            true,
            then(whole(), vec![Tcp(false, ACK, [51, 11], "wicked")]),
        ),
        talk(
            "midstream",
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
            "two guessed acknowledgement numbers",
            false,
            then(opened(Tcp(true, ACK, [11, 7], "")), vec![sent([11, 8])]),
        ),
        talk(
            "a midstream segment before the handshake",
            false,
            then(
                vec![Tcp(true, ACK, [9, 50], "x"), Tcp(false, RST, [50, 0], "")],
                opened(sent([11, 900_000])),
            ),
        ),
        talk(
            "simultaneous open",
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

fn capture(talks: &[Talk]) -> Vec<u8> {
    let packets = (1_u16..).zip(talks).flat_map(|(host, talk)| {
        talk.packets.iter().map(move |packet| match packet {
            Tcp(from_host, flags, numbers, text) => {
                let ends = Ends { host, port: 53, v6: false };
                ends.tcp(*from_host, *flags, *numbers, text.as_bytes())
            }
            Udp(from_host, text) => {
                let ends = Ends { host, port: 53, v6: false };
                ends.udp(*from_host, text.as_bytes())
            }
        })
    });
    crate::capture::capture(packets)
}

#[test]
fn only_a_complete_handshake_proves_a_source() {
    let Some(program) = suricata() else {
        return;
    };
    let talks = talks();
    let text = events(&program, RULES, false, &capture(&talks));
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
}
