// SPDX-License-Identifier: GPL-2.0-or-later
//! Opens netlink sockets, sets socket options, and exchanges datagrams with the kernel.
#![expect(unsafe_code, reason = "options of netlink sockets have no safe form")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, NETFILTER, SocketAddrNetlink, XFRM};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto,
    socket_with, sockopt,
};

/// Size of receive buffers. The kernel fills datagrams of a dump up to 32 KiB if they fit.
pub(crate) const DATAGRAM: usize = 64 * 1024;

/// Netlink protocol, which selects a kernel subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `NETLINK_ROUTE`: links, addresses, routes, neighbours, queueing disciplines.
    Route,
    /// `NETLINK_NETFILTER`: conntrack, nftables.
    Netfilter,
    /// `NETLINK_GENERIC`: families with dynamic numbers.
    Generic,
    /// `NETLINK_XFRM`: `IPsec` policies and keys.
    Xfrm,
}

#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Socket {
    /// Opens a socket and binds it to a port that the kernel chooses. An unbound socket would
    /// receive no events, because `do_one_broadcast` skips port 0.
    pub(crate) fn open(protocol: Protocol, flags: SocketFlags) -> io::Result<Self> {
        let protocol = match protocol {
            Protocol::Route => None,
            Protocol::Netfilter => Some(NETFILTER),
            Protocol::Generic => Some(GENERIC),
            Protocol::Xfrm => Some(XFRM),
        };
        let flags = flags | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        let this = Self(socket);
        // Errors have a text (Linux 4.12) but no copy of the payload, so that many errors fit into
        // the receive buffer.
        let _ = this.set(libc::NETLINK_EXT_ACK, 1);
        let _ = this.set(libc::NETLINK_CAP_ACK, 1);
        Ok(this)
    }

    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        self.set(libc::NETLINK_ADD_MEMBERSHIP, group)
    }

    /// Enables strict checks of dump requests.
    #[cfg(test)]
    pub(crate) fn set_strict(&self) -> io::Result<()> {
        const NETLINK_GET_STRICT_CHK: i32 = 12;
        self.set(NETLINK_GET_STRICT_CHK, 1)
    }

    /// Sets an option of level `SOL_NETLINK`, which rustix does not support.
    fn set(&self, option: i32, value: u32) -> io::Result<()> {
        let length = libc::socklen_t::try_from(size_of::<u32>()).unwrap_or_default();
        let value = std::ptr::from_ref(&value).cast();
        // SAFETY: `value` is valid for reads of `length` bytes during the call.
        let result =
            unsafe { libc::setsockopt(self.as_raw_fd(), libc::SOL_NETLINK, option, value, length) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(crate) fn receive_timeout(&self, timeout: Duration) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.0, sockopt::Timeout::Recv, Some(timeout))?)
    }

    /// Requests a receive buffer of this size and returns the granted size. Without
    /// `CAP_NET_ADMIN`, `net.core.rmem_max` limits the size.
    pub(crate) fn receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        if sockopt::set_socket_recv_buffer_size_force(&self.0, bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&self.0, bytes)?;
        }
        Ok(sockopt::socket_recv_buffer_size(&self.0)?)
    }

    pub(crate) fn send(&self, messages: &[u8]) -> io::Result<()> {
        sendto(&self.0, messages, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }

    /// Receives the next datagram from the kernel and returns its length. Skips datagrams of other
    /// processes.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let (filled, length, from) = match recvfrom(&self.0, &mut *buffer, RecvFlags::TRUNC) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
            let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
            if from.is_none_or(|from| from.pid() != 0) {
                continue;
            }
            return if length > filled { Err(Errno::MSGSIZE.into()) } else { Ok(filled) };
        }
    }
}
