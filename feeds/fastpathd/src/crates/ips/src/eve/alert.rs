// SPDX-License-Identifier: GPL-2.0-or-later
//! Fields of an alert, and of the offence that its source may be blocked for.

use std::net::IpAddr;

config::named! {
    /// The direction of the packet.
    pub enum Direction {
        /// From the initiator.
        ToServer = "to_server",
        /// To the initiator.
        ToClient = "to_client",
    }
}

/// One rule that fired on one packet. All texts are from the network or from rule files:
/// bounded, valid, and otherwise unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Unix milliseconds by Suricata's clock; 0 if it said none.
    pub at_ms: i64,
    /// The packet never arrived.
    pub blocked: bool,
    /// Group of the rule.
    pub gid: u32,
    /// Number of the rule.
    pub sid: u32,
    /// Its revision.
    pub rev: u32,
    /// Its message.
    pub signature: String,
    /// Its class.
    pub category: String,
    /// 1 is the worst.
    pub severity: u32,
    /// Such as `TCP`.
    pub proto: String,
    /// Application protocol; empty if unknown.
    pub app: String,
    /// Sender of the packet; none if it is not IP.
    pub src: Option<IpAddr>,
    /// Its port; 0 if there is none.
    pub sport: u16,
    /// Receiver.
    pub dst: Option<IpAddr>,
    /// Its port.
    pub dport: u16,
    /// The packet's direction, if it belongs to a connection.
    pub direction: Option<Direction>,
    /// HTTP host and path, TLS server name or DNS name, if there is one.
    pub target: String,
    /// Where the packet came in. Suricata does not say so of a queue: see `ips/mod.rs` of the
    /// daemon.
    pub device: String,
    /// Suricata's number of the connection; 0 if there is none.
    pub flow: u64,
    /// Who is to be blocked for it.
    pub offence: Option<Offence>,
}

/// A source that fired a drop rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offence {
    /// Whom the rule names as the source (keyword `target`), else the packet's sender.
    pub address: IpAddr,
    /// Suricata has seen the TCP handshake of the connection: a host that forges its address does
    /// not receive the number to acknowledge. Without this proof anybody could have others
    /// blocked: a datagram with a forged source is answered, too, and so is a segment of a
    /// connection that does not exist.
    pub proven: bool,
}
