// SPDX-License-Identifier: GPL-2.0-or-later
//! A question and its answer over generic netlink.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use netlink_bindings::builtin::Nlmsghdr;
use netlink_bindings::{nlctrl, utils};

/// Room for the largest datagram the kernel makes.
const DATAGRAM: usize = 32 * 1024;
/// `CTRL_CMD_GETFAMILY` of the kernel's `genetlink.h`.
const FAMILY_GET: u8 = 3;

/// A socket, and the number of the family that is asked.
#[derive(Debug)]
pub(super) struct Genetlink {
    socket: OwnedFd,
    family: u16,
}

impl Genetlink {
    /// For a family by its name.
    pub(super) fn open(family: &str) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let control = u16::try_from(libc::GENL_ID_CTRL).unwrap_or_default();
        let mut asked = Self { socket, family: control };
        let mut request = Self::request();
        nlctrl::OpGetfamilyDo::encode_request(&mut request)
            .push_family_name_bytes(family.as_bytes());
        let mut number = None;
        asked.ask(FAMILY_GET, request, |answer| {
            number = number.or(nlctrl::OpGetfamilyDo::decode_request(answer).get_family_id().ok());
        })?;
        asked.family = number.ok_or(io::ErrorKind::NotFound)?;
        Ok(asked)
    }

    /// A message with room for its header, to which attributes are added.
    pub(super) fn request() -> Vec<u8> {
        vec![0; Nlmsghdr::len()]
    }

    /// Sends a message with `command` and gives the payloads of its answers, until the kernel
    /// says that it is done or refuses.
    pub(super) fn ask(
        &self,
        command: u8,
        mut message: Vec<u8>,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
        let header = Nlmsghdr {
            len: u32::try_from(message.len()).unwrap_or(u32::MAX),
            r#type: self.family,
            flags: u16::try_from(flags).unwrap_or_default(),
            seq: 1,
            pid: 0,
        };
        message[..Nlmsghdr::len()].copy_from_slice(header.as_slice());
        // The first byte of generic netlink's own header.
        if let Some(byte) = message.get_mut(Nlmsghdr::len()) {
            *byte = command;
        }
        // SAFETY: `message` is valid for reads of its length during the call.
        let sent = unsafe {
            libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0)
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let datagram = self.receive(&mut buffer)?;
            if answers(datagram, &mut take)? {
                return Ok(());
            }
        }
    }

    fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        loop {
            // SAFETY: `buffer` is valid for writes of its length during the call.
            let got = unsafe {
                let room = buffer.as_mut_ptr().cast();
                libc::recv(self.socket.as_raw_fd(), room, buffer.len(), 0)
            };
            if let Ok(got) = usize::try_from(got) {
                return Ok(&buffer[..got]);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Hands out the messages of a datagram; whether the last was among them.
fn answers(mut datagram: &[u8], take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while datagram.len() >= Nlmsghdr::len() {
        let header = Nlmsghdr::new_from_slice(&datagram[..Nlmsghdr::len()]);
        let header = header.ok_or(io::ErrorKind::InvalidData)?;
        let length = usize::try_from(header.len).unwrap_or(usize::MAX);
        let message = datagram.get(Nlmsghdr::len()..length).ok_or(io::ErrorKind::InvalidData)?;
        match i32::from(header.r#type) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let code = message.get(..size_of::<i32>()).and_then(utils::parse_i32);
                return match code.ok_or(io::ErrorKind::InvalidData)? {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
            _ => take(message),
        }
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}
