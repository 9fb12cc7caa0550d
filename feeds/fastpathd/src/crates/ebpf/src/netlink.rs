// SPDX-License-Identifier: GPL-2.0-or-later
//! Single questions to the kernel over netlink, with the answers awaited.

use std::io;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with,
};

const HEADER: usize = 16;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
/// Of `flags` in [`ask`]: all that there is.
pub(crate) const DUMP: u16 = 0x300;

const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Answers are those of a kernel that runs here: it takes no time.
const PATIENCE: Duration = Duration::from_secs(2);

/// A message of an answer.
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) payload: Vec<u8>,
}

/// Asks a protocol, or that of links and routes. The answer ends with the kernel's word for it.
pub(crate) fn ask(
    protocol: Option<Protocol>,
    kind: u16,
    flags: u16,
    payload: &[u8],
) -> io::Result<Vec<Message>> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    let length = u32::try_from(HEADER + payload.len()).map_err(io::Error::other)?;
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend((REQUEST | ACK | flags).to_ne_bytes());
    // Sequence number and sender: one question per socket.
    request.extend([1_u32.to_ne_bytes(), [0; 4]].concat());
    request.extend(payload);
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut messages = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (filled, _) = recv(&socket, &mut *buffer, RecvFlags::empty())?;
        if take(&buffer[..filled], &mut messages)? {
            return Ok(messages);
        }
    }
}

/// Takes the messages of a datagram; true if the answer ends with it.
fn take(mut datagram: &[u8], messages: &mut Vec<Message>) -> io::Result<bool> {
    while let Some(length) = word(datagram, 0) {
        let length = length as usize;
        let Some(message) = datagram.get(..length).filter(|m| m.len() >= HEADER) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        let payload = &message[HEADER..];
        match (kind, word(payload, 0)) {
            (ERROR, Some(code)) if code != 0 => {
                return Err(io::Error::from_raw_os_error(code.cast_signed().wrapping_neg()));
            }
            (ERROR | DONE, _) => return Ok(true),
            _ => messages.push(Message { kind, payload: payload.to_vec() }),
        }
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

/// Four bytes at `at`, in the machine's order.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// An attribute, filled up to four bytes.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The value of the first attribute of this kind.
pub(crate) fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while let Some([a, b, c, d]) = attributes.first_chunk() {
        let length = usize::from(u16::from_ne_bytes([*a, *b]));
        let value = attributes.get(4..length)?;
        // The upper two bits tell of its form.
        if u16::from_ne_bytes([*c, *d]) & 0x3fff == kind {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_again() {
        let both = [attribute(1, &[7; 5]), attribute(3, &[9; 8])].concat();
        assert_eq!(find(&both, 1), Some(&[7; 5][..]));
        assert_eq!(find(&both, 3), Some(&[9; 8][..]));
        assert_eq!(find(&both, 2), None);
        assert_eq!(find(&both[..14], 3), None);
        assert_eq!(find(&[0, 0, 1, 0], 1), None);
    }

    #[test]
    fn an_answer_ends_with_done_or_an_error() {
        let message = |kind: u16, payload: &[u8]| {
            let length = u32::try_from(16 + payload.len()).expect("short");
            let head = [length.to_ne_bytes().to_vec(), kind.to_ne_bytes().to_vec()].concat();
            [head, vec![0; 10], payload.to_vec()].concat()
        };
        let mut messages = Vec::new();
        assert!(!take(&message(44, &[1, 2, 3, 4]), &mut messages).expect("well formed"));
        let rest = [message(44, &[5; 4]), message(DONE, &[0; 4])].concat();
        assert!(take(&rest, &mut messages).expect("well formed"));
        assert_eq!(messages.len(), 2);
        let refused = take(&message(ERROR, &(-19_i32).to_ne_bytes()), &mut messages);
        assert_eq!(refused.expect_err("refused").raw_os_error(), Some(19));
        assert!(take(&[200, 0, 0, 0, 1, 1], &mut messages).is_err());
    }
}
