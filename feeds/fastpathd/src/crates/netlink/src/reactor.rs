// SPDX-License-Identifier: GPL-2.0-or-later
//! A non-blocking netlink socket on tokio's reactor, for multicast groups and requests.
#![expect(unsafe_code, reason = "the descriptor is registered while its owner lives")]

use std::io;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::SocketFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::burst::Burst;
use crate::socket::{DATAGRAM, Protocol, Socket};

/// Socket for events, or for requests that must not block the thread.
pub struct AsyncSocket {
    socket: Arc<Socket>,
    /// Registration with the reactor, made when the queue is empty for the first time.
    fd: Option<AsyncFd<Arc<Socket>>>,
    buffer: Vec<u8>,
    burst: Option<Burst>,
}

impl AsyncSocket {
    /// Opens a socket and joins the multicast groups.
    pub fn open(protocol: Protocol, groups: &[u32]) -> io::Result<Self> {
        let socket = Socket::open(protocol, SocketFlags::NONBLOCK)?;
        for group in groups {
            socket.join(*group)?;
        }
        Ok(Self { socket: Arc::new(socket), fd: None, buffer: vec![0; DATAGRAM], burst: None })
    }

    /// Removes the registration with the reactor, which would otherwise wake the thread for each
    /// datagram. The next call that finds the queue empty registers the socket again.
    pub fn mute(&mut self) {
        self.fd = None;
    }

    /// Waits for datagrams after the queue was empty. Needs a tokio runtime.
    async fn readable(&mut self) -> io::Result<()> {
        let fd = match &mut self.fd {
            Some(fd) => fd,
            none => {
                let socket = Arc::clone(&self.socket);
                // SAFETY: the socket owns its descriptor and keeps it open until the last reference
                // is dropped.
                let fd = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
                none.insert(fd.map_err(io::Error::from)?)
            }
        };
        // The caller reads again before the next wait.
        fd.readable().await?.clear_ready();
        Ok(())
    }

    pub fn join(&self, group: u32) -> io::Result<()> {
        self.socket.join(group)
    }

    /// Requests a receive buffer of this size and returns the granted size. Sizes above
    /// `net.core.rmem_max` need `CAP_NET_ADMIN`.
    pub fn receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        self.socket.receive_buffer(bytes)
    }

    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        self.socket.send(messages)
    }

    /// Receives the next datagram. Cancel safe.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`].
    pub async fn recv(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.socket.receive(&mut self.buffer) {
                Ok(length) => return Ok(&self.buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for datagrams, receives up to [`BURST`](crate::BURST) with one system call, and passes
    /// them to `each`. Returns their number. Cancel safe.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`]. Returns `EMSGSIZE` if a datagram exceeds 4 KiB.
    pub async fn recv_burst(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<usize> {
        loop {
            match self.try_recv_burst(&mut each)? {
                0 => self.readable().await?,
                received => return Ok(received),
            }
        }
    }

    /// Returns the next queued datagram, or `None` if the queue is empty.
    ///
    /// # Errors
    /// Returns the kernel's error; see [`overrun`].
    pub fn try_recv(&mut self) -> io::Result<Option<&[u8]>> {
        match self.socket.receive(&mut self.buffer) {
            Ok(length) => Ok(Some(&self.buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Like [`recv_burst`](Self::recv_burst), without waiting: returns 0 if the queue is empty.
    pub fn try_recv_burst(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<usize> {
        let burst = self.burst.get_or_insert_with(Burst::new);
        match burst.receive(&self.socket) {
            Ok(received) => {
                burst.datagrams().try_for_each(|datagram| datagram.map(&mut each))?;
                Ok(received)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }
}

impl std::fmt::Debug for AsyncSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncSocket").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Reports whether the receive buffer overflowed (`ENOBUFS`). The socket remains usable, but the
/// kernel drops events until the buffer is empty.
#[must_use]
pub fn overrun(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}
