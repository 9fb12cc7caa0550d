// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages of application protocols, reduced to the parts that rules inspect.

use super::pcap::Side::{self, Home, Outside};

pub(crate) type Said = Vec<(Side, Vec<u8>)>;

pub(crate) fn other(side: Side) -> Side {
    if side == Home { Outside } else { Home }
}

/// Returns a request without a body. Each of `headers` ends with CRLF.
pub(crate) fn get(uri: &str, headers: &str) -> Vec<u8> {
    format!("GET {uri} HTTP/1.1\r\nHost: host.example\r\n{headers}\r\n").into_bytes()
}

pub(crate) fn post(uri: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let kind = "application/x-www-form-urlencoded";
    format!(
        "POST {uri} HTTP/1.1\r\nHost: host.example\r\nContent-Type: {kind}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

pub(crate) fn response(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Returns a request of a home host, and the response.
pub(crate) fn page(kind: &str, body: &[u8]) -> Said {
    vec![(Home, get("/page", "")), (Outside, response("200 OK", kind, body))]
}

pub(crate) fn request(initiator: Side, bytes: Vec<u8>) -> Said {
    vec![(initiator, bytes), (other(initiator), response("200 OK", "text/plain", b"ok"))]
}

/// Returns a DNS message with one question.
pub(crate) fn dns(name: &str, kind: u16, answer_code: Option<u8>) -> Vec<u8> {
    let flags = answer_code.map_or([0x01, 0x00], |code| [0x81, 0x80 | code]);
    let mut message = vec![0x12, 0x34, flags[0], flags[1], 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).expect("a label's length"));
        message.extend(label.bytes());
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend([0, 1]);
    message
}

fn record(version: [u8; 2], kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(&u32::try_from(body.len()).expect("short").to_be_bytes()[1..]);
    message.extend(body);
    let length = u16::try_from(message.len()).expect("short").to_be_bytes();
    [&[0x16, version[0], version[1], length[0], length[1]], message.as_slice()].concat()
}

/// Returns the `ClientHello` of TLS 1.2 with a server name.
pub(crate) fn client_hello(name: &str) -> Vec<u8> {
    let length = |extra: usize| u16::try_from(name.len() + extra).expect("short").to_be_bytes();
    let mut extension = vec![0, 0];
    extension.extend(length(5));
    extension.extend(length(3));
    extension.push(0);
    extension.extend(length(0));
    extension.extend(name.bytes());
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 4, 0xc0, 0x2f, 0, 0x2f, 1, 0]);
    body.extend(u16::try_from(extension.len()).expect("short").to_be_bytes());
    body.extend(extension);
    record([3, 1], 1, &body)
}

/// Returns a `ServerHello` that chooses this version (3, 1 is TLS 1.0; 3, 3 is TLS 1.2).
pub(crate) fn server_hello(version: [u8; 2]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend([9; 32]);
    body.extend([0, 0xc0, 0x2f, 0]);
    record(version, 2, &body)
}

pub(crate) fn certificate(version: [u8; 2], der: &[u8]) -> Vec<u8> {
    let length =
        |extra: usize| u32::try_from(der.len() + extra).expect("short").to_be_bytes()[1..].to_vec();
    record(version, 11, &[length(3), length(0), der.to_vec()].concat())
}

/// Returns an `SNMPv1` request for the system's description.
pub(crate) fn snmp(community: &str) -> Vec<u8> {
    let pdu = [
        0xa0, 0x19, 2, 1, 1, 2, 1, 0, 2, 1, 0, 0x30, 0x0e, 0x30, 0x0c, 6, 8, 0x2b, 6, 1, 2, 1, 1,
        1, 0, 5, 0,
    ];
    let name = u8::try_from(community.len()).expect("short");
    let mut body = vec![2, 1, 0, 4, name];
    body.extend(community.bytes());
    body.extend(pdu);
    let mut message = vec![0x30, u8::try_from(body.len()).expect("short")];
    message.extend(body);
    message
}
