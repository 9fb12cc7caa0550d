// SPDX-License-Identifier: GPL-2.0-or-later
//! Information elements of the records, in template order. `docs/ipfix.csv` is generated from them.

/// Field length for a variable length (RFC 7011, section 7).
pub(crate) const VARIABLE: u16 = u16::MAX;
/// Enterprise number of reverse elements (RFC 5103).
pub(crate) const REVERSE: u32 = 29305;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Iana,
    /// Reverse of the IANA element with this number: packets to the initiator (RFC 5103).
    Reverse,
    /// fastpath's own element, under the configured enterprise number.
    Enterprise {
        /// Abstract data type (RFC 7012).
        kind: &'static str,
        /// Data type semantics (RFC 7012).
        semantics: &'static str,
        text: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    pub owner: Owner,
    pub id: u16,
    /// Length in bytes; 65535 for a variable length.
    pub length: u16,
    pub name: &'static str,
}

#[derive(Debug)]
pub struct Template {
    /// Template id, also the id of its data sets.
    pub id: u16,
    /// Number of leading scope fields; 0 except in an options template.
    pub scope: u16,
    pub fields: &'static [Element],
}

const fn iana(id: u16, length: u16, name: &'static str) -> Element {
    Element { owner: Owner::Iana, id, length, name }
}

const fn reverse(id: u16, length: u16, name: &'static str) -> Element {
    Element { owner: Owner::Reverse, id, length, name }
}

const fn text(id: u16, name: &'static str, text: &'static str) -> Element {
    let owner = Owner::Enterprise { kind: "string", semantics: "default", text };
    Element { owner, id, length: VARIABLE, name }
}

/// Numbers start at 101: pmacct 1.7 ignores enterprise numbers, so smaller ones collide with IANA's
/// elements in the templates.
const OFFLOADED: Element = Element {
    owner: Owner::Enterprise {
        kind: "unsigned64",
        semantics: "deltaCounter",
        text: "The octets of both directions that an engine has forwarded past the network stack. \
               They are contained in octetDeltaCount and its reverse element.",
    },
    id: 101,
    length: 8,
    name: "offloadedOctetDeltaCount",
};

/// Fields of a record with addresses of this length.
macro_rules! fields {
    ($length:literal, $src:literal $src_name:literal, $dst:literal $dst_name:literal,
     $post_src:literal $post_src_name:literal, $post_dst:literal $post_dst_name:literal) => {
        &[
            iana(152, 8, "flowStartMilliseconds"),
            iana(153, 8, "flowEndMilliseconds"),
            iana(1, 8, "octetDeltaCount"),
            iana(2, 8, "packetDeltaCount"),
            reverse(1, 8, "reverseOctetDeltaCount"),
            reverse(2, 8, "reversePacketDeltaCount"),
            iana($src, $length, $src_name),
            iana($dst, $length, $dst_name),
            iana(7, 2, "sourceTransportPort"),
            iana(11, 2, "destinationTransportPort"),
            iana(4, 1, "protocolIdentifier"),
            iana(136, 1, "flowEndReason"),
            iana(239, 1, "biflowDirection"),
            iana($post_src, $length, $post_src_name),
            iana($post_dst, $length, $post_dst_name),
            iana(227, 2, "postNAPTSourceTransportPort"),
            iana(228, 2, "postNAPTDestinationTransportPort"),
            iana(10, 4, "ingressInterface"),
            iana(14, 4, "egressInterface"),
            iana(58, 2, "vlanId"),
            iana(59, 2, "postVlanId"),
            iana(148, 8, "flowId"),
            OFFLOADED,
            text(
                102,
                "forwardingPath",
                "The best path that packets of the flow have taken since the last record: slow, \
                 inspect, flowtable, hardware or ebpf.",
            ),
            text(
                103,
                "offloadReason",
                "The reason why the flow was not offloaded; empty if it was.",
            ),
            text(
                104,
                "inspectionStatus",
                "The state of inspection by Suricata: none, inspecting, always, bypassed, spent, \
                 uninspected or stopped.",
            ),
            text(105, "ingressZone", "The initiator's firewall zone; empty if there is none."),
            text(106, "egressZone", "The responder's firewall zone; empty if there is none."),
        ]
    };
}

pub static V4: Template = Template {
    id: 256,
    scope: 0,
    fields: fields!(
        4,
        8 "sourceIPv4Address",
        12 "destinationIPv4Address",
        225 "postNATSourceIPv4Address",
        226 "postNATDestinationIPv4Address"
    ),
};

pub static V6: Template = Template {
    id: 257,
    scope: 0,
    fields: fields!(
        16,
        27 "sourceIPv6Address",
        28 "destinationIPv6Address",
        281 "postNATSourceIPv6Address",
        282 "postNATDestinationIPv6Address"
    ),
};

/// Options template of interface names, with one record per interface.
pub static INTERFACE: Template = Template {
    id: 258,
    scope: 1,
    fields: &[iana(10, 4, "ingressInterface"), iana(82, VARIABLE, "interfaceName")],
};

/// Formats fastpath's own elements as CSV with the columns of IANA's registry and the enterprise
/// number.
#[must_use]
pub fn csv(enterprise: u32) -> String {
    let rows = V4.fields.iter().filter_map(|Element { owner, id, name, .. }| {
        let Owner::Enterprise { kind, semantics, text } = owner else { return None };
        let units = if *kind == "string" { "" } else { "octets" };
        Some(format!("{id},{name},{kind},{semantics},current,\"{text}\",{units},{enterprise}\n"))
    });
    let columns = "ElementID,Name,Abstract Data Type,Data Type Semantics,Status,Description,\
                   Units,Enterprise Number\n";
    std::iter::once(columns.to_owned()).chain(rows).collect()
}
