// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the real Suricata ends the inspection of encrypted connections, but not of clear text
//! framed like them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::capture::{ACK, Ends, SYN, capture, events};
use crate::common::suricata;

const RULES: &str = "drop tcp any any -> any any (msg:\"T\"; flow:established; \
    content:\"uid=0(root)\"; sid:8199001; rev:1;)\n";
const WICKED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nuid=0(root) gid=0(root)\n";

/// Bytes, with `true` if the client sends them.
type Sent = (bool, Vec<u8>);

struct Talk {
    what: String,
    port: u16,
    v6: bool,
    sent: Vec<Sent>,
    /// Inspection ends before the malicious answer.
    ends: bool,
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("short").to_be_bytes();
    [&[kind, 3, 3], length.as_slice(), body].concat()
}

fn data(body: &[u8]) -> Vec<u8> {
    body.chunks(4000).flat_map(|chunk| record(23, chunk)).collect()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    record(22, &[&[kind], &length[1..], body].concat())
}

fn hello() -> Vec<u8> {
    message(1, &[&[3, 3], [b'C'; 32].as_slice(), &[0, 0, 2, 0, 0x9c, 1, 0]].concat())
}

fn tls12() -> Vec<Sent> {
    let server = message(2, &[&[3, 3], [b'R'; 32].as_slice(), &[0, 0, 0x9c, 0]].concat());
    let server = [server, message(11, &[0; 3]), message(14, &[])].concat();
    let finished = [record(20, &[1]), record(22, &[b'F'; 40])].concat();
    let client = [message(16, b"\0\x01x"), finished.clone()].concat();
    vec![(true, hello()), (false, server), (true, client), (false, finished)]
}

/// Returns a TLS 1.3 handshake: both hellos have the extension `supported_versions`.
fn tls13(random: &mut Random) -> Vec<Sent> {
    let client = [&[3, 3], [b'C'; 32].as_slice(), &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let client = message(1, &[client, vec![0, 7, 0, 43, 0, 3, 2, 3, 4]].concat());
    let server = [&[3, 3], [b'R'; 32].as_slice(), &[0, 0x13, 1, 0]].concat();
    let server = message(2, &[server, vec![0, 6, 0, 43, 0, 2, 3, 4]].concat());
    let server = [server, record(20, &[1]), data(&random.noise(1500))].concat();
    let finished = [record(20, &[1]), data(&random.noise(53))].concat();
    vec![(true, client), (false, server), (true, finished)]
}

fn ssh() -> Vec<Sent> {
    let packet = |kind: u8, length: u8| {
        [&[0, 0, 0, length + 2, 4, kind], vec![b'k'; length.into()].as_slice()].concat()
    };
    let steps = [b"SSH-2.0-x\r\n".to_vec(), packet(20, 40), packet(21, 10)];
    steps.into_iter().flat_map(|step| [(true, step.clone()), (false, step)]).collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }

    fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next(256).to_le_bytes()[0]).collect()
    }

    /// Returns text of `characters` equally likely printable characters.
    fn text(&mut self, length: usize, characters: usize) -> Vec<u8> {
        (0..length).map(|_| b' ' + self.next(characters).to_le_bytes()[0]).collect()
    }
}

fn talk(what: impl Into<String>, ends: bool, parts: &[&[Sent]]) -> Talk {
    Talk { what: what.into(), port: 443, v6: false, sent: parts.concat(), ends }
}

/// Returns clear text framed like each encrypted protocol. Only encrypted content ends inspection.
fn pretended(random: &mut Random) -> Vec<Talk> {
    let (tls12, tls13) = (tls12(), tls13(random));
    let both = |client: &[u8], server: &[u8]| vec![(true, data(client)), (false, data(server))];
    let request = b"GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n".repeat(20);
    let noise = random.noise(5000);
    let counted = [&[0, 0, 0, 0, 0, 0, 0, 1], noise.as_slice()].concat();
    let only_handshake: Vec<u8> = noise.chunks(900).flat_map(|part| record(22, part)).collect();
    vec![
        talk("without a form", false, &[]),
        talk("TLS 1.2", false, &[&tls12]),
        talk("TLS 1.3", false, &[&tls13]),
        talk("only the client's hello", false, &[&[(true, hello())]]),
        talk("hello, then data", false, &[&[(true, hello())], &both(b"a", b"b")]),
        talk("SSH", false, &[&ssh()]),
        talk("SSH, then noise", false, &[&ssh(), &[(true, noise.clone()), (false, noise.clone())]]),
        talk("zeros", false, &[&tls12, &both(&[0; 5000], &[0; 9000])]),
        talk("requests", false, &[&tls12, &both(&request, &request)]),
        talk("answers alone look encrypted", false, &[&tls12, &both(&request, &noise)]),
        talk("requests alone look encrypted", false, &[&tls13, &both(&noise, &request)]),
        talk(
            "noise outside of records",
            false,
            &[&tls12, &[(true, noise.clone()), (false, noise.clone())]],
        ),
        talk(
            "noise in a handshake",
            false,
            &[&tls12, &[(true, only_handshake.clone()), (false, only_handshake)]],
        ),
        talk("little noise", false, &[&tls12, &both(&noise[..91], &noise[..500])]),
        talk(
            "noise and the text in one packet",
            false,
            &[&tls12, &both(&noise[..600], &[&noise[..600], WICKED].concat())],
        ),
        talk("the least", true, &[&[(true, hello())], &both(&noise[..88], &noise[..507])]),
        talk("less", false, &[&[(true, hello())], &both(&noise[..87], &noise[..507])]),
        talk("nonces that count", true, &[&tls12, &both(&counted[..88], &counted)]),
        talk("TLS 1.2, encrypted", true, &[&tls12, &both(&noise[..200], &noise)]),
        talk("TLS 1.3, encrypted", true, &[&tls13, &both(&noise[..200], &noise)]),
        talk("an upload", true, &[&tls13, &both(&noise, &noise[..100]), &both(&noise, b"a")]),
        talk("a short request", true, &[&tls13, &both(&noise[..88], &noise)]),
    ]
}

/// Returns connections in which each end sends noise, or text of up to 64 characters (Base64).
fn generated(random: &mut Random) -> Vec<Talk> {
    let generated = (0..120).map(|at| {
        let mut sent = if at % 2 == 0 { tls12() } else { tls13(random) };
        let noisy = [random.next(2) == 0, random.next(2) == 0];
        for round in 0..=random.next(3) {
            for (side, noisy) in [true, false].into_iter().zip(noisy) {
                let (length, characters) = (600 + random.next(4000), 2 + random.next(63));
                let body =
                    if noisy { random.noise(length) } else { random.text(length, characters) };
                sent.push((side, data(&body)));
            }
            // One more message, because the bits are set after the first round.
            if round == 0 && noisy == [true, true] {
                sent.push((true, data(&random.noise(600))));
            }
        }
        talk(format!("generated {at}: {noisy:?}"), noisy == [true, true], &[&sent])
    });
    generated.collect()
}

fn packets(ends: Ends, sent: &[Sent]) -> Vec<Vec<u8>> {
    let syn = ends.tcp(true, SYN, [10, 0], b"");
    let mut packets = vec![syn, ends.tcp(false, SYN | ACK, [50, 11], b"")];
    packets.push(ends.tcp(true, ACK, [11, 51], b""));
    let mut next = [11, 51];
    let answer = [(true, data(b"id\n")), (false, WICKED.to_vec())];
    let framed = [(true, data(b"id\n")), (false, data(WICKED))];
    for (from_host, bytes) in sent.iter().chain(&answer).chain(&framed) {
        for segment in bytes.chunks(1400) {
            let side = usize::from(!from_host);
            packets.push(ends.tcp(*from_host, ACK, [next[side], next[1 - side]], segment));
            next[side] += u32::try_from(segment.len()).expect("short");
            packets.push(ends.tcp(!from_host, ACK, [next[1 - side], next[side]], b""));
        }
    }
    packets
}

fn talks() -> Vec<Talk> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let elsewhere = [(25, false), (8443, false), (443, true), (22, true)];
    let places = elsewhere.into_iter().flat_map(|(port, v6)| {
        let place = move |talk: Talk| Talk {
            what: format!("{}, port {port}, IPv6 {v6}", talk.what),
            port,
            v6,
            ..talk
        };
        pretended(&mut Random(u64::from(port))).into_iter().map(place)
    });
    let mut all = pretended(&mut random);
    all.extend(places);
    all.extend(generated(&mut random));
    all
}

/// Returns for each talk whether inspection ended, and whether the text was dropped.
fn judged(talks: &[Talk], always: bool) -> Option<Vec<(bool, bool)>> {
    let program = suricata()?;
    let packets = (1_u16..)
        .zip(talks)
        .flat_map(|(host, talk)| packets(Ends { host, port: talk.port, v6: talk.v6 }, &talk.sent));
    let text = events(&program, RULES, always, &capture(packets));
    let mut judged: BTreeMap<u16, (bool, bool)> = BTreeMap::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).expect(line);
        let host = ["src_ip", "dest_ip"].iter().find_map(|key| host(event[key].as_str()?));
        let entry = judged.entry(host.unwrap_or_default()).or_default();
        entry.0 |= event["event_type"] == "flow" && event["flow"]["state"] == "bypassed";
        entry.1 |= event["event_type"] == "alert" && event["alert"]["action"] == "blocked";
    }
    Some((1_u16..).zip(talks).map(|(host, _)| judged[&host]).collect())
}

fn host(address: &str) -> Option<u16> {
    if let Some(tail) = address.strip_prefix("198.18.") {
        let (high, low) = tail.split_once('.')?;
        return Some(u16::from_be_bytes([high.parse().ok()?, low.parse().ok()?]));
    }
    let tail = address.strip_prefix("2001:0db8:")?.rsplit(':').next()?;
    u16::from_str_radix(tail, 16).ok()
}

#[test]
fn clear_text_framed_like_tls_or_ssh_stays_inspected() {
    let talks = talks();
    let Some(judged) = judged(&talks, false) else {
        return;
    };
    let wrong: Vec<String> = talks
        .iter()
        .zip(judged)
        .filter(|(talk, judged)| *judged != (talk.ends, !talk.ends))
        .map(|(talk, (ended, dropped))| format!("{}: ended {ended}, dropped {dropped}", talk.what))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn always_inspected_connections_are_inspected_to_their_end() {
    let talks = talks();
    let Some(judged) = judged(&talks, true) else {
        return;
    };
    assert!(judged.iter().all(|judged| *judged == (false, true)), "{judged:?}");
}
