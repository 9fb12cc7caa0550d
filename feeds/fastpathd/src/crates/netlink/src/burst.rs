// SPDX-License-Identifier: GPL-2.0-or-later
//! Receives up to 64 datagrams with one system call (`recvmmsg`). Each event is a datagram, and a
//! system call costs more than decoding the event.
#![expect(unsafe_code, reason = "recvmmsg has no safe form")]

use std::io;
use std::os::fd::AsRawFd;

use crate::socket::Socket;

/// Maximum datagrams per call.
pub const BURST: usize = 64;

/// Maximum bytes of an event; conntrack events have a few hundred.
const MAX_EVENT: usize = 4096;

#[derive(Clone)]
struct Slot {
    bytes: Vec<u8>,
    from: libc::sockaddr_nl,
}

pub(crate) struct Burst {
    slots: Vec<Slot>,
    /// Length of each received datagram, and false if it was truncated.
    received: Vec<(usize, bool)>,
}

impl Burst {
    pub(crate) fn new() -> Self {
        Self::of(MAX_EVENT)
    }

    /// Allocates buffers of `size` bytes.
    fn of(size: usize) -> Self {
        // SAFETY: all zeros are a valid address.
        let from = unsafe { std::mem::zeroed() };
        let slot = Slot { bytes: vec![0; size], from };
        Self { slots: vec![slot; BURST], received: Vec::with_capacity(BURST) }
    }

    /// Receives datagrams from a non-blocking socket and returns their number.
    pub(crate) fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        self.received.clear();
        let mut parts: Vec<libc::iovec> = self.slots.iter_mut().map(part).collect();
        let mut heads: Vec<libc::mmsghdr> =
            self.slots.iter_mut().zip(&mut parts).map(|(slot, part)| head(slot, part)).collect();
        let most = libc::c_uint::try_from(heads.len()).unwrap_or_default();
        let (fd, no_limit) = (socket.as_raw_fd(), std::ptr::null_mut());
        let received = loop {
            // SAFETY: each head has one part and one address, which stay valid during the call.
            let result = unsafe { libc::recvmmsg(fd, heads.as_mut_ptr(), most, 0, no_limit) };
            if let Ok(received) = usize::try_from(result) {
                break received;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        };
        let whole = |head: &libc::mmsghdr| head.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
        let length = |head: &libc::mmsghdr| usize::try_from(head.msg_len).unwrap_or_default();
        self.received.extend(heads[..received].iter().map(|head| (length(head), whole(head))));
        Ok(received)
    }

    /// Returns the datagrams of the last call that the kernel sent. A truncated datagram is an
    /// error.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = io::Result<&[u8]>> {
        let received = self.slots.iter().zip(&self.received);
        received.filter(|(slot, _)| slot.from.nl_pid == 0).map(|(slot, (length, whole))| {
            if *whole { Ok(&slot.bytes[..*length]) } else { Err(too_long()) }
        })
    }
}

fn too_long() -> io::Error {
    io::Error::from_raw_os_error(libc::EMSGSIZE)
}

fn part(slot: &mut Slot) -> libc::iovec {
    libc::iovec { iov_base: slot.bytes.as_mut_ptr().cast(), iov_len: slot.bytes.len() }
}

fn head(slot: &mut Slot, part: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: all zeros are a valid head without address and parts.
    let mut head: libc::mmsghdr = unsafe { std::mem::zeroed() };
    head.msg_hdr.msg_name = (&raw mut slot.from).cast();
    head.msg_hdr.msg_namelen = libc::socklen_t::try_from(size_of_val(&slot.from)).unwrap_or(0);
    head.msg_hdr.msg_iov = part;
    head.msg_hdr.msg_iovlen = 1;
    head
}

#[cfg(test)]
mod tests;
