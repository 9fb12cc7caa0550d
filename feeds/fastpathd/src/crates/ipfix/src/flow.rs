// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow records and their encoding.

use std::net::IpAddr;

use crate::element::{Template, V4, V6};

/// Maximum length of a text in bytes; lengths below 255 are encoded in one byte (RFC 7011, section
/// 7).
const MAX_TEXT: usize = 64;

/// `biflowDirection`: the record's source is the initiator (RFC 5103, section 6.3).
const INITIATOR: u8 = 1;

/// Reason for a record (`flowEndReason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EndReason {
    /// The idle timeout has expired.
    Idle = 1,
    /// The active timeout has expired; the flow continues.
    Active = 2,
    /// The connection ended.
    End = 3,
    /// The exporter stops; the flow may continue.
    Forced = 4,
}

/// Addresses and ports of initiator and responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Port of the initiator; 0 for ICMP.
    pub sport: u16,
    /// Port of the responder; type and code for ICMP.
    pub dport: u16,
}

/// A flow record. Pairs of counters are from and to the initiator; other pairs are of the
/// initiator's and the responder's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow<'a> {
    /// Start of the reported interval, Unix time in ms.
    pub start_ms: u64,
    /// End of the reported interval, Unix time in ms.
    pub end_ms: u64,
    /// Bytes since the last record, including layer 3 headers.
    pub octets: [u64; 2],
    pub packets: [u64; 2],
    /// Bytes of `octets` that an engine has forwarded.
    pub offloaded: u64,
    pub protocol: u8,
    /// Tuple of the initiator's packets before NAT.
    pub sent: Ends,
    /// Tuple of the initiator's packets after NAT.
    pub received: Ends,
    pub end_reason: EndReason,
    /// Indices of the layer 3 devices; 0 if unknown.
    pub interfaces: [u32; 2],
    /// VLANs; 0 if untagged.
    pub vlans: [u16; 2],
    pub id: u64,
    /// Best path of the flow's packets since the last record.
    pub path: &'a str,
    /// Reason why the flow was not offloaded; empty if it was.
    pub reason: &'a str,
    pub inspection: &'a str,
    /// Firewall zones; empty if none.
    pub zones: [&'a str; 2],
}

impl Flow<'_> {
    pub(crate) fn template(&self) -> &'static Template {
        if self.sent.src.is_ipv4() { &V4 } else { &V6 }
    }

    /// Appends the fields in template order.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let v4 = self.sent.src.is_ipv4();
        let numbers = [
            self.start_ms,
            self.end_ms,
            self.octets[0],
            self.packets[0],
            self.octets[1],
            self.packets[1],
        ];
        for number in numbers {
            out.extend(number.to_be_bytes());
        }
        ends(self.sent, v4, out);
        out.extend([self.protocol, self.end_reason as u8, INITIATOR]);
        ends(self.received, v4, out);
        for number in self.interfaces {
            out.extend(number.to_be_bytes());
        }
        for number in self.vlans {
            out.extend(number.to_be_bytes());
        }
        out.extend(self.id.to_be_bytes());
        out.extend(self.offloaded.to_be_bytes());
        for one in [self.path, self.reason, self.inspection, self.zones[0], self.zones[1]] {
            text(one, out);
        }
    }
}

fn ends(ends: Ends, v4: bool, out: &mut Vec<u8>) {
    for address in [ends.src, ends.dst] {
        match address {
            IpAddr::V4(address) if v4 => out.extend(address.octets()),
            IpAddr::V6(address) if !v4 => out.extend(address.octets()),
            // NAT does not change the family within one conntrack entry.
            IpAddr::V4(_) | IpAddr::V6(_) => {
                out.extend(std::iter::repeat_n(0, if v4 { 4 } else { 16 }));
            }
        }
    }
    for port in [ends.sport, ends.dport] {
        out.extend(port.to_be_bytes());
    }
}

/// Appends a field of variable length, truncated at a character boundary.
pub(crate) fn text(text: &str, out: &mut Vec<u8>) {
    let mut length = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    out.push(u8::try_from(length).unwrap_or_default());
    out.extend(&text.as_bytes()[..length]);
}
