// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

config::named! {
    /// Direction of the packet that triggered the rule.
    pub enum Direction {
        /// From the initiator.
        ToServer = "to_server",
        /// To the initiator.
        ToClient = "to_client",
    }
}

/// One rule that one packet triggered. Texts come from the network or from rule files; they are
/// bounded and valid UTF-8, but otherwise unchanged. Serialized as in the API (`types.json`,
/// `Alert`), without names and the id of its flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Unix milliseconds by Suricata's clock; 0 if the event has no time.
    pub at_ms: i64,
    /// The packet was dropped.
    #[serde(rename = "action", with = "action")]
    pub blocked: bool,
    /// Group of the rule.
    pub gid: u32,
    /// Number of the rule.
    pub sid: u32,
    /// Revision of the rule.
    pub rev: u32,
    /// Message of the rule.
    pub signature: String,
    /// Class of the rule.
    pub category: String,
    /// 1 is the most severe.
    pub severity: u32,
    /// Transport protocol, such as `TCP`.
    pub proto: String,
    /// Application protocol; empty if unknown.
    pub app: String,
    /// Sender of the packet; `None` if the packet is not IP.
    #[serde(with = "address")]
    pub src: Option<IpAddr>,
    /// 0 if the protocol has no ports.
    pub sport: u16,
    /// Receiver of the packet.
    #[serde(with = "address")]
    pub dst: Option<IpAddr>,
    pub dport: u16,
    /// `None` if the packet belongs to no connection.
    #[serde(with = "direction")]
    pub direction: Option<Direction>,
    /// HTTP host and path, TLS or QUIC server name, or DNS name; empty without any.
    pub target: String,
    /// Ingress device. Empty for packets of an NFQUEUE until `ips/mod.rs` of the daemon sets it.
    pub device: String,
    /// Suricata's id of the connection; 0 without a connection.
    #[serde(skip)]
    pub flow: u64,
    /// Set if the rule is a drop rule and the packet was dropped.
    #[serde(skip)]
    pub offence: Option<Offence>,
}

/// Defines how a field is written as a text, and read again.
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
// Empty for none.
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

/// Source of a packet that triggered a drop rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offence {
    /// Source named by the rule (keyword `target`), otherwise the sender of the packet.
    pub address: IpAddr,
    /// Suricata has seen the TCP handshake of the connection, which a host with a forged address
    /// cannot complete: it never receives the number to acknowledge. Without this proof an attacker
    /// could have others blocked, since datagrams and stray segments with a forged source are
    /// answered, too.
    pub proven: bool,
}
