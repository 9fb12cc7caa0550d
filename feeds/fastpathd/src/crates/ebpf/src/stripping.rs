// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and sets VLAN stripping on receive (`rxvlan` of ethtool). XDP cannot see stripped tags.
#![expect(unsafe_code, reason = "the ioctl has no safe form")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const RXVLAN: u32 = 1 << 8;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

pub fn strips(device: &str) -> io::Result<bool> {
    Ok(ask(device, GET_FLAGS, 0)? & RXVLAN != 0)
}

pub fn strip(device: &str, on: bool) -> io::Result<()> {
    let flags = ask(device, GET_FLAGS, 0)?;
    let wanted = if on { flags | RXVLAN } else { flags & !RXVLAN };
    if wanted == flags {
        return Ok(());
    }
    ask(device, SET_FLAGS, wanted)?;
    if strips(device)? == on { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

fn ask(device: &str, command: u32, data: u32) -> io::Result<u32> {
    let kind = SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(AddressFamily::INET, SocketType::DGRAM, kind, None)?;
    let mut value = Value { command, data };
    // SAFETY: all zeros are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= libc::IF_NAMESIZE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and its data outlive the call.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
}
