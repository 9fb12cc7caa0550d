// SPDX-License-Identifier: GPL-2.0-or-later
//! A non-blocking netfilter netlink socket on tokio's reactor.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use tokio::io::unix::AsyncFd;

/// The kernel fills dump datagrams up to 32 KiB when the reader offers that much room.
const RECV_BUFFER: usize = 64 * 1024;

pub(crate) struct Socket {
    fd: AsyncFd<OwnedFd>,
    buffer: Vec<u8>,
}

impl Socket {
    /// Opens the socket, a member of the multicast groups of the bit mask `groups`.
    pub(crate) fn open(groups: u32) -> std::io::Result<Self> {
        let fd = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            Some(netlink::NETFILTER),
        )?;
        rustix::net::bind(&fd, &SocketAddrNetlink::new(0, groups))?;
        // SAFETY: an OwnedFd is open until it is dropped and never changes its number.
        let fd = unsafe { AsyncFd::register(fd) }.map_err(std::io::Error::from)?;
        Ok(Self { fd, buffer: vec![0; RECV_BUFFER] })
    }

    /// Makes room for bursts in the kernel: beyond `net.core.rmem_max` where we may, up to it
    /// otherwise. Returns what the kernel granted.
    pub(crate) fn grow(&self, bytes: usize) -> std::io::Result<usize> {
        if sockopt::set_socket_recv_buffer_size_force(&self.fd, bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&self.fd, bytes)?;
        }
        Ok(sockopt::socket_recv_buffer_size(&self.fd)?)
    }

    /// Sends one request to the kernel.
    pub(crate) fn send(&self, request: &[u8]) -> std::io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.fd, request, SendFlags::empty(), &kernel)?;
        Ok(())
    }

    /// The next datagram.
    pub(crate) async fn recv(&mut self) -> std::io::Result<&[u8]> {
        loop {
            let mut ready = self.fd.readable().await?;
            let buffer = &mut self.buffer;
            match ready.try_io(|fd| Ok(rustix::net::recv(fd, &mut *buffer, RecvFlags::TRUNC)?)) {
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
                Ok(result) => {
                    let (filled, actual) = result?;
                    if actual > filled {
                        return Err(Errno::MSGSIZE.into());
                    }
                    return Ok(&self.buffer[..filled]);
                }
                Err(_would_block) => {}
            }
        }
    }

    /// A datagram that is already there, or `None`.
    pub(crate) fn try_recv(&mut self) -> std::io::Result<Option<&[u8]>> {
        match rustix::net::recv(&self.fd, &mut *self.buffer, RecvFlags::TRUNC) {
            Ok((filled, actual)) if actual > filled => Err(Errno::MSGSIZE.into()),
            Ok((filled, _)) => Ok(Some(&self.buffer[..filled])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").field("fd", &self.fd).finish_non_exhaustive()
    }
}
