// SPDX-License-Identifier: GPL-2.0-or-later
//! The bpf(2) commands for programs and links. `elements.rs` has the commands for map entries.
#![expect(unsafe_code, reason = "the bpf system call has no safe form")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const OBJ_PIN: libc::c_int = 6;
const OBJ_GET: libc::c_int = 7;
const PROG_TEST_RUN: libc::c_int = 10;
const LINK_CREATE: libc::c_int = 28;
const LINK_UPDATE: libc::c_int = 29;
const LINK_DETACH: libc::c_int = 34;

/// `bpf_attach_type` of XDP.
pub(crate) const XDP: u32 = 37;
/// `bpf_attach_type` of TCX, ingress.
pub(crate) const TCX_INGRESS: u32 = 46;

#[repr(C)]
#[derive(Default)]
struct Object {
    path: u64,
    fd: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct Create {
    program: u32,
    ifindex: u32,
    kind: u32,
    flags: u32,
    relative: u64,
    revision: u64,
}

#[repr(C)]
#[derive(Default)]
struct Update {
    link: u32,
    program: u32,
    flags: u32,
    old: u32,
}

#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    returned: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    end: u32,
}

pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut object = Object { path: path.as_ptr() as u64, ..Object::default() };
    let fd = call(OBJ_GET, &mut object)?;
    // SAFETY: the kernel has just opened the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut object = Object { path: path.as_ptr() as u64, fd: number(object), ..Object::default() };
    call(OBJ_PIN, &mut object).map(drop)
}

/// Attaches a program to a device. Closing an unpinned link detaches the program.
pub(crate) fn link(
    program: BorrowedFd<'_>,
    ifindex: u32,
    kind: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let program = number(program);
    let mut create = Create { program, ifindex, kind, flags, ..Create::default() };
    let fd = call(LINK_CREATE, &mut create)?;
    // SAFETY: the kernel has just opened the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Replaces the program of a link atomically.
pub(crate) fn update(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    let mut update = Update { link: number(link), program: number(program), ..Update::default() };
    call(LINK_UPDATE, &mut update).map(drop)
}

/// Detaches a program synchronously, unlike closing the link.
pub(crate) fn detach(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut link = number(link);
    call(LINK_DETACH, &mut link).map(drop)
}

/// Runs a program once (`BPF_PROG_TEST_RUN`) and returns its result.
pub(crate) fn run(program: BorrowedFd<'_>, frame: &[u8], context: &[u8]) -> io::Result<u32> {
    let size = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(io::Error::other);
    let mut run = Run {
        program: number(program),
        data_size_in: size(frame)?,
        data_in: frame.as_ptr() as u64,
        context_size_in: size(context)?,
        context_in: context.as_ptr() as u64,
        repeat: 1,
        ..Run::default()
    };
    call(PROG_TEST_RUN, &mut run)?;
    Ok(run.returned)
}

pub(crate) fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// Calls bpf(2). Pointers in `attributes` must stay valid during the call.
pub(crate) fn call<T>(command: libc::c_int, attributes: &mut T) -> io::Result<i32> {
    let size = size_of::<T>();
    // SAFETY: `attributes` has the kernel's layout for this command, and this size.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(result).map_err(io::Error::other)
}
