// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

config::named! {
    /// Direction of the packet that triggered the rule.
    pub enum Direction {
        /// Sent by the initiator.
        ToServer = "to_server",
        /// Sent by the responder.
        ToClient = "to_client",
    }
}

/// A rule that a packet triggered. Texts come from the network or from rule files; they are
/// truncated and valid UTF-8, but may contain control characters. Serialized as in the API
/// (`types.json`, `Alert`), without host names and flow id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Unix milliseconds by Suricata's clock. 0 if the event has no time.
    pub at_ms: i64,
    #[serde(rename = "action", with = "action")]
    pub blocked: bool,
    /// Generator id of the rule.
    pub gid: u32,
    /// Signature id of the rule.
    pub sid: u32,
    pub rev: u32,
    pub signature: String,
    pub category: String,
    /// Severity of the rule; 1 is the most severe.
    pub severity: u32,
    pub proto: String,
    pub app: String,
    /// Sender of the packet. `None` if the packet is not IP.
    #[serde(with = "address")]
    pub src: Option<IpAddr>,
    pub sport: u16,
    #[serde(with = "address")]
    pub dst: Option<IpAddr>,
    pub dport: u16,
    /// `None` if the packet belongs to no connection.
    #[serde(with = "direction")]
    pub direction: Option<Direction>,
    /// HTTP host and path, TLS or QUIC server name, or DNS name. Empty for other protocols.
    pub target: String,
    /// Ingress device. Empty for NFQUEUE packets until the daemon sets it (`run/ips.rs`).
    pub device: String,
    /// Suricata's id of the connection. 0 without a connection.
    #[serde(skip)]
    pub flow: u64,
    /// Set if a drop rule triggered and the packet was dropped.
    #[serde(skip)]
    pub offence: Option<Offence>,
}

/// Defines a module that serializes a field as text.
macro_rules! as_text {
    ($module:ident, $type:ty, $write:expr, $read:expr) => {
        mod $module {
            use super::*;

            pub(super) fn serialize<S: Serializer>(
                value: &$type,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.serialize_str(&$write(*value))
            }

            pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<$type, D::Error> {
                Ok($read(&String::deserialize(from)?))
            }
        }
    };
}

as_text!(action, bool, |blocked| if blocked { "blocked" } else { "allowed" }, |text: &str| text
    == "blocked");
// `None` is an empty text.
as_text!(
    address,
    Option<IpAddr>,
    |end: Option<IpAddr>| end.map(|end| end.to_string()).unwrap_or_default(),
    |text: &str| text.parse().ok()
);
as_text!(
    direction,
    Option<Direction>,
    |one: Option<Direction>| one.map_or("", Direction::name),
    Direction::from_name
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offence {
    /// Source named by the rule (keyword `target`), or else the sender of the packet.
    pub address: IpAddr,
    /// Suricata has seen the TCP handshake of the connection, so the address is not forged. Without
    /// this proof, an attacker could send packets with a victim's address to have the victim
    /// blocked.
    pub proven: bool,
}
