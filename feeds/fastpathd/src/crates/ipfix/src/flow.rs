// SPDX-License-Identifier: GPL-2.0-or-later
//! One record about a flow, and its bytes: the fields in the order of its template. Lengths above
//! which texts are cut.

use std::net::IpAddr;

use crate::element::{Template, V4, V6};

/// Bytes of a text: the length of a field below 255 takes one byte (RFC 7011, 7).
const TEXT_MOST: usize = 64;

/// The source of a record is the initiator (`biflowDirection`, RFC 5103, 6.3).
const INITIATOR: u8 = 1;

/// Why a record ends (`flowEndReason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EndReason {
    /// The flow has been idle.
    Idle = 1,
    /// The flow goes on; the record reports its growth.
    Active = 2,
    /// The end of the connection was seen.
    End = 3,
    /// The exporter ends; the flow may go on.
    Forced = 4,
}

/// Addresses and ports of both ends, the initiator's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The initiator's address.
    pub src: IpAddr,
    /// The responder's address.
    pub dst: IpAddr,
    /// The initiator's port; ICMP: 0.
    pub sport: u16,
    /// The responder's port; ICMP: type and code.
    pub dport: u16,
}

/// A record about a flow. Pairs: from the initiator, and to it; or the initiator's side, and the
/// responder's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow<'a> {
    /// Begin of the time that the record reports, Unix ms.
    pub start_ms: u64,
    /// Its end.
    pub end_ms: u64,
    /// Bytes since the last record, headers of layer 3 included.
    pub octets: [u64; 2],
    /// Packets since the last record.
    pub packets: [u64; 2],
    /// Bytes of `octets` that an engine has forwarded.
    pub offloaded: u64,
    /// Protocol of layer 4.
    pub protocol: u8,
    /// The ends as the initiator's packets have them.
    pub sent: Ends,
    /// The same behind NAT.
    pub received: Ends,
    /// Why the record ends.
    pub end_reason: EndReason,
    /// Numbers of the devices of layer 3; 0: unknown.
    pub interfaces: [u32; 2],
    /// VLANs; 0: none.
    pub vlans: [u16; 2],
    /// Number of the flow.
    pub id: u64,
    /// The path of its packets.
    pub path: &'a str,
    /// Why it was not offloaded.
    pub reason: &'a str,
    /// State of inspection.
    pub inspection: &'a str,
    /// Firewall zones.
    pub zones: [&'a str; 2],
}

impl Flow<'_> {
    pub(crate) fn template(&self) -> &'static Template {
        if self.sent.src.is_ipv4() { &V4 } else { &V6 }
    }

    /// Appends the fields of the template.
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
            // NAT does not change the family within one entry of conntrack.
            IpAddr::V4(_) | IpAddr::V6(_) => {
                out.extend(std::iter::repeat_n(0, if v4 { 4 } else { 16 }));
            }
        }
    }
    for port in [ends.sport, ends.dport] {
        out.extend(port.to_be_bytes());
    }
}

/// A field of variable length, cut between characters.
pub(crate) fn text(text: &str, out: &mut Vec<u8>) {
    let mut length = text.len().min(TEXT_MOST);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    out.push(u8::try_from(length).unwrap_or_default());
    out.extend(&text.as_bytes()[..length]);
}
