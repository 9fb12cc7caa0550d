// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends an ICMP echo with the flag "don't fragment".
#![expect(unsafe_code, reason = "rustix has no raw sockets of this form")]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::Echo;

const TIMEOUT: Duration = Duration::from_millis(800);
/// Length of an IPv4 header without options, in bytes.
const IP_HEADER: usize = 20;
/// Length of an echo header, in bytes.
const ICMP_HEADER: usize = 8;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Sends an echo in a packet of `size` bytes and waits for its answer.
pub(super) fn echo(target: Ipv4Addr, size: u16) -> io::Result<Echo> {
    let socket = open(target)?;
    let packet = request(size);
    // SAFETY: `packet` is valid for reads of its length during the call.
    let sent = unsafe { libc::send(socket.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0) };
    if sent < 0 {
        return too_large(Echo::TooLarge);
    }
    let until = Instant::now() + TIMEOUT;
    let mut buffer = [0; 2048];
    while Instant::now() < until {
        // SAFETY: `buffer` is valid for writes of its length during the call.
        let got =
            unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(got) {
            Ok(got) if is_answer(&buffer[..got], &packet) => return Ok(Echo::Answered),
            Ok(_) => {}
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => return too_large(Echo::Reported),
            },
        }
    }
    Ok(Echo::Lost)
}

/// Interprets an error. `EMSGSIZE` means that our device (while sending) or a router of the path
/// (afterwards) rejected the size. Other errors of the path, such as host unreachable, are lost
/// packets.
fn too_large(means: Echo) -> io::Result<Echo> {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EMSGSIZE) => Ok(means),
        _ if means == Echo::Reported => Ok(Echo::Lost),
        _ => Err(error),
    }
}

/// Opens a connected socket, which receives only answers and errors of this host.
fn open(target: Ipv4Addr) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: system call without pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_ICMP) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // Never fragment, and ignore the cached path MTU.
    set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_PROBE)?;
    let mut time: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 0 };
    time.tv_usec = 100_000;
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &time)?;
    // SAFETY: an all-zero `sockaddr_in` is a valid value.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default();
    address.sin_addr.s_addr = u32::from(target).to_be();
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or_default();
    // SAFETY: `address` is valid for reads of `length` bytes during the call.
    let result =
        unsafe { libc::connect(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or_default();
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: `value` is valid for reads of its own size during the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns an echo request for a packet of `size` bytes, with the size as sequence number.
fn request(size: u16) -> Vec<u8> {
    let mut packet = vec![0; usize::from(size).saturating_sub(IP_HEADER).max(ICMP_HEADER)];
    packet[0] = ECHO_REQUEST;
    let [.., high, low] = std::process::id().to_be_bytes();
    packet[4..8].copy_from_slice(&[high, low, size.to_be_bytes()[0], size.to_be_bytes()[1]]);
    let sum = checksum(&packet).to_be_bytes();
    packet[2..4].copy_from_slice(&sum);
    packet
}

/// Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

/// Returns whether a packet is the answer to our request. Raw sockets receive the IP header and the
/// echoes of all programs.
fn is_answer(packet: &[u8], asked: &[u8]) -> bool {
    let header = usize::from(packet.first().copied().unwrap_or_default() & 0xf) * 4;
    let Some(icmp) = packet.get(header..) else { return false };
    icmp.first() == Some(&ECHO_REPLY) && icmp.get(4..8) == asked.get(4..8)
}

#[cfg(test)]
mod tests {
    use super::{checksum, echo, is_answer, request};
    use crate::machine::Echo;

    #[test]
    fn a_request_has_the_size_and_a_valid_checksum() {
        for size in [576_u16, 1499, 1500] {
            let packet = request(size);
            assert_eq!((packet.len() + 20, checksum(&packet)), (usize::from(size), 0));
        }
    }

    #[test]
    fn accepts_only_its_own_answer() {
        let asked = request(600);
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet.extend(&asked);
        assert!(!is_answer(&packet, &asked), "the request itself, as on the loopback");
        packet[20] = 0;
        assert!(is_answer(&packet, &asked));
        assert!(!is_answer(&packet, &request(601)));
        assert!(!is_answer(&[0x4f], &asked));
    }

    // Without the right to open a raw socket, only the error is checked.
    #[test]
    fn loopback_answers_an_echo() {
        match echo([127, 0, 0, 1].into(), 1500) {
            Ok(answer) => assert_eq!(answer, Echo::Answered),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
        }
    }
}
