// SPDX-License-Identifier: GPL-2.0-or-later
//! A non-blocking netlink socket on tokio's reactor, for multicast groups and requests.
#![expect(unsafe_code, reason = "the descriptor is registered while its owner lives")]

use std::io;

use rustix::io::Errno;
use rustix::net::SocketFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::burst::Burst;
use crate::socket::{DATAGRAM, Protocol, Socket};

/// Socket for events, or for requests that must not block the thread.
pub struct AsyncSocket {
    fd: AsyncFd<Socket>,
    buffer: Vec<u8>,
    burst: Option<Burst>,
}

impl AsyncSocket {
    /// Opens a socket and joins the multicast groups. Needs a tokio runtime.
    pub fn open(protocol: Protocol, groups: &[u32]) -> io::Result<Self> {
        let socket = Socket::open(protocol, SocketFlags::NONBLOCK)?;
        for group in groups {
            socket.join(*group)?;
        }
        // SAFETY: the socket owns its descriptor and keeps it open until the socket is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
        Ok(Self { fd: fd.map_err(io::Error::from)?, buffer: vec![0; DATAGRAM], burst: None })
    }

    pub fn join(&self, group: u32) -> io::Result<()> {
        self.fd.get_ref().join(group)
    }

    /// Requests a receive buffer of this size and returns the granted size. Sizes above
    /// `net.core.rmem_max` need `CAP_NET_ADMIN`.
    pub fn receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        self.fd.get_ref().receive_buffer(bytes)
    }

    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        self.fd.get_ref().send(messages)
    }

    /// Receives the next datagram. Cancel safe.
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

    /// Waits for datagrams, receives up to [`BURST`](crate::BURST) with one system call, and passes
    /// them to `each`. Returns their number. Cancel safe.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`]. Returns `EMSGSIZE` if a datagram exceeds 4 KiB.
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

    /// Returns the next queued datagram, or `None` if the queue is empty.
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

/// Reports whether the receive buffer overflowed (`ENOBUFS`). The socket remains usable, but the
/// kernel drops events until the buffer is empty.
#[must_use]
pub fn overrun(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}
