// SPDX-License-Identifier: GPL-2.0-or-later
//! A netlink socket of the route family.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Room for the largest datagram of a dump (the kernel fills up to 32 KiB).
pub(crate) const DATAGRAM: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct RouteSocket(OwnedFd);

impl AsRawFd for RouteSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl RouteSocket {
    pub(crate) fn open(nonblocking: bool) -> io::Result<Self> {
        let flags = libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
        // SAFETY: plain system call without pointers.
        let fd =
            unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | flags, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and belongs to nobody else.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        socket.bind()?;
        Ok(socket)
    }

    /// Takes a port number of the kernel's choice. Without one no event arrives, whatever groups
    /// are joined: `do_one_broadcast` takes a socket with port 0 for the sender.
    fn bind(&self) -> io::Result<()> {
        // SAFETY: an all-zero `sockaddr_nl` is a valid value.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::sa_family_t::try_from(libc::AF_NETLINK).unwrap_or_default();
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or_default();
        // SAFETY: `address` is valid for reads of `length` bytes during the call.
        let result =
            unsafe { libc::bind(self.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn set<T>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or_default();
        // SAFETY: `value` is valid for reads of its own size during the call.
        let result = unsafe {
            libc::setsockopt(
                self.as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                length,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        self.set(libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, &group)
    }

    /// Asks for this much room for events that wait. Beyond the system's limit only with
    /// `CAP_NET_ADMIN`; less is no error, only resyncs come earlier.
    pub(crate) fn receive_buffer(&self, bytes: i32) {
        if self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_err() {
            let _ = self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes);
        }
    }

    pub(crate) fn receive_timeout(&self, timeout: Duration) -> io::Result<()> {
        let value = libc::timeval {
            tv_sec: i32::try_from(timeout.as_secs()).unwrap_or(i32::MAX).into(),
            tv_usec: timeout.subsec_micros().into(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &value)
    }

    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: `message` is valid for reads of its length during the call.
        let sent =
            unsafe { libc::send(self.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The next datagram from the kernel; those of other processes are dropped.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        loop {
            // SAFETY: an all-zero `sockaddr_nl` is a valid value.
            let mut from: libc::sockaddr_nl = unsafe { zeroed() };
            let mut length =
                libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or_default();
            // SAFETY: buffer, `from` and `length` are valid for writes of the sizes given.
            let got = unsafe {
                libc::recvfrom(
                    self.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    libc::MSG_TRUNC,
                    std::ptr::from_mut(&mut from).cast(),
                    &raw mut length,
                )
            };
            let Ok(got) = usize::try_from(got) else {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            };
            if got > buffer.len() {
                return Err(io::Error::other("a datagram exceeds the kernel's maximum size"));
            }
            if from.nl_pid == 0 {
                return Ok(&buffer[..got]);
            }
        }
    }
}
