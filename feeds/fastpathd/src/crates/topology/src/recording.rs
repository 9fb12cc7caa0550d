// SPDX-License-Identifier: GPL-2.0-or-later
//! Converts recordings made on x86 to this machine's byte order, for tests.
//!
//! rtnetlink encodes numbers in native order and addresses in network order. Only numbers that this
//! crate reads are converted.

#[derive(Clone, Copy)]
enum Value {
    /// Numbers of these sizes, in bytes.
    Numbers(&'static [usize]),
    Nest(Attributes),
}

/// Contents of the attributes of a message or a nest, by type; other attributes stay unchanged.
type Attributes = &'static [(u16, Value)];

const WORD: Value = Value::Numbers(&[4]);
const HALF: Value = Value::Numbers(&[2]);

const IFINFOMSG: &[usize] = &[1, 1, 2, 4, 4, 4];
const IFADDRMSG: &[usize] = &[1, 1, 1, 1, 4];
const RTMSG: &[usize] = &[1, 1, 1, 1, 1, 1, 1, 1, 4];
const NDMSG: &[usize] = &[1, 1, 2, 4, 2, 1, 1];

/// `IFLA_LINK`, `IFLA_MTU`, `IFLA_MASTER`, and `IFLA_LINKINFO` with `IFLA_INFO_DATA` with
/// `IFLA_VLAN_ID` (a bridge's first attribute is longer, and is not read).
const LINK: Attributes =
    &[(5, WORD), (4, WORD), (10, WORD), (18, Value::Nest(&[(2, Value::Nest(&[(1, HALF)]))]))];
/// `IFLA_AF_SPEC` of family `AF_BRIDGE`, with `IFLA_BRIDGE_VLAN_INFO`.
const PORT: Attributes = &[(26, Value::Nest(&[(2, Value::Numbers(&[2, 2]))]))];
/// `RTA_OIF`, `RTA_PRIORITY`, `RTA_TABLE`.
const ROUTE: Attributes = &[(4, WORD), (6, WORD), (15, WORD)];
/// `NDA_VLAN`, `NDA_MASTER`.
const NEIGHBOUR: Attributes = &[(5, HALF), (9, WORD)];

pub(crate) fn native(recorded: &[u8]) -> Vec<u8> {
    let mut bytes = recorded.to_vec();
    if cfg!(target_endian = "big") {
        swap_messages(&mut bytes);
    }
    bytes
}

/// Converts `/proc/net/pppoe`, which prints the big-endian session number as a native one.
pub(crate) fn native_session(recorded: &str) -> String {
    if cfg!(target_endian = "big") {
        recorded.replace("00000100", "00000001")
    } else {
        recorded.into()
    }
}

fn swap_messages(mut bytes: &mut [u8]) {
    while let Some(&[l0, l1, l2, l3, k0, k1]) = bytes.first_chunk() {
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        swap(bytes, &[4, 2, 2, 4, 4]);
        swap_payload(u16::from_le_bytes([k0, k1]), &mut bytes[16..length]);
        bytes = bytes.get_mut(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn swap_payload(kind: u16, payload: &mut [u8]) {
    const AF_BRIDGE: u8 = 7;
    let (header, attributes) = match kind {
        libc::RTM_NEWLINK if payload[0] == AF_BRIDGE => (IFINFOMSG, PORT),
        libc::RTM_NEWLINK => (IFINFOMSG, LINK),
        libc::RTM_NEWADDR => (IFADDRMSG, &[][..]),
        libc::RTM_NEWROUTE => (RTMSG, ROUTE),
        libc::RTM_NEWNEIGH => (NDMSG, NEIGHBOUR),
        // `NLMSG_DONE`.
        _ => return,
    };
    swap(payload, header);
    swap_attributes(&mut payload[header.iter().sum()..], attributes);
}

fn swap_attributes(mut bytes: &mut [u8], known: Attributes) {
    while let Some(&[l0, l1, k0, k1]) = bytes.first_chunk() {
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        let kind = u16::from_le_bytes([k0, k1]) & 0x3fff;
        swap(bytes, &[2, 2]);
        let value = &mut bytes[4..length];
        match known.iter().find(|(known, _)| *known == kind) {
            Some((_, Value::Numbers(sizes))) if sizes.iter().sum::<usize>() == value.len() => {
                swap(value, sizes);
            }
            Some((_, Value::Nest(known))) => swap_attributes(value, known),
            _ => {}
        }
        bytes = bytes.get_mut(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// Reverses the leading numbers of these sizes.
fn swap(mut bytes: &mut [u8], sizes: &[usize]) {
    for size in sizes {
        let (number, rest) = bytes.split_at_mut(*size);
        number.reverse();
        bytes = rest;
    }
}
