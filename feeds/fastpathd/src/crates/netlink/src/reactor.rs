// SPDX-License-Identifier: GPL-2.0-or-later
//! A non-blocking netlink socket on tokio's reactor, for multicast groups and requests. Lost events
//! appear as `ENOBUFS`.
#![expect(unsafe_code, reason = "the descriptor is registered while its owner lives")]

use std::io;

use rustix::io::Errno;
use rustix::net::SocketFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::burst::Burst;
use crate::socket::{DATAGRAM, Protocol, Socket};

/// A socket for events, or for requests with answers that must not block the thread.
pub struct AsyncSocket {
    fd: AsyncFd<Socket>,
    buffer: Vec<u8>,
    burst: Option<Burst>,
}

impl AsyncSocket {
    /// Opens the socket and joins the multicast groups. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the socket cannot be opened or cannot join a group.
    pub fn open(protocol: Protocol, groups: &[u32]) -> io::Result<Self> {
        let socket = Socket::open(protocol, SocketFlags::NONBLOCK)?;
        for group in groups {
            socket.join(*group)?;
        }
        // SAFETY: the socket owns its descriptor, which stays open and keeps its number until the
        // socket is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
        Ok(Self { fd: fd.map_err(io::Error::from)?, buffer: vec![0; DATAGRAM], burst: None })
    }

    /// Joins a further multicast group.
    ///
    /// # Errors
    /// Fails if the kernel lacks the group or does not allow it.
    pub fn join(&self, group: u32) -> io::Result<()> {
        self.fd.get_ref().join(group)
    }

    /// Requests a receive buffer of this size and returns the granted size. A size above
    /// `net.core.rmem_max` needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        self.fd.get_ref().receive_buffer(bytes)
    }

    /// Sends messages to the kernel.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        self.fd.get_ref().send(messages)
    }

    /// Receives the next datagram. Cancel safe: dropping the future loses no datagram.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`].
    pub async fn recv(&mut self) -> io::Result<&[u8]> {
        loop {
            let mut ready = self.fd.readable().await?;
            let buffer = &mut self.buffer;
            if let Ok(received) = ready.try_io(|fd| fd.get_ref().receive(buffer)) {
                return received.map(|length| &self.buffer[..length]);
            }
        }
    }

    /// Waits for datagrams and passes up to [`BURST`](crate::BURST) received ones to `each`, with
    /// one system call. Returns their number, at least one. Cancel safe: dropping the future loses
    /// none.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`]. `EMSGSIZE` if a datagram exceeds 4 KiB.
    pub async fn recv_burst(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<usize> {
        let burst = self.burst.get_or_insert_with(Burst::new);
        loop {
            let mut ready = self.fd.readable().await?;
            if let Ok(received) = ready.try_io(|fd| burst.receive(fd.get_ref())) {
                let received = received?;
                burst.datagrams().try_for_each(|datagram| datagram.map(&mut each))?;
                return Ok(received);
            }
        }
    }

    /// Returns a datagram that has already arrived, or `None`.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`].
    pub fn try_recv(&mut self) -> io::Result<Option<&[u8]>> {
        match self.fd.get_ref().receive(&mut self.buffer) {
            Ok(length) => Ok(Some(&self.buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl std::fmt::Debug for AsyncSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncSocket").field("fd", &self.fd).finish_non_exhaustive()
    }
}

/// Reports whether the receive buffer overflowed (`ENOBUFS`). The kernel then drops events until
/// the buffer has been empty once; the socket remains usable.
#[must_use]
pub fn overrun(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}
