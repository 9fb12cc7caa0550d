// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs at a device's clsact, which is how TC has them before 6.6.

use std::io;

use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType, TcError};

use crate::folder::Folder;
use crate::netlink::{DUMP, ask};
use crate::programs::{Dsa, Role};

const DELETE_QDISC: u16 = 37;
const NEW_FILTER: u16 = 44;
const GET_FILTER: u16 = 46;

const HANDLE: u32 = 0xffff_0000;
const PARENT: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;

/// Attaches the pinned program; it stays until it is detached.
pub(crate) fn attach(folder: &Folder, dsa: Dsa, device: &str) -> Result<(), ProgramError> {
    let mut program = SchedClassifier::from_pin(folder.program(dsa, Role::Tc))?;
    match qdisc_add_clsact(device) {
        // There already, or there will be an error below.
        Ok(()) | Err(TcError::AlreadyAttached | TcError::NetlinkError(_)) => {}
        Err(e) => return Err(e.into()),
    }
    let options = TcAttachOptions::Netlink(NlOptions::default());
    let id = program.attach_with_options(device, TcAttachType::Ingress, options)?;
    // Dropped, it would take the filter with it.
    std::mem::forget(program.take_link(id)?);
    Ok(())
}

/// Takes our filter away, and the clsact if nothing else is there: an empty one does nothing.
pub(crate) fn detach(ifindex: u32, device: &str) -> Result<(), TcError> {
    match qdisc_detach_program(device, TcAttachType::Ingress, Role::Tc.name()) {
        Err(TcError::IoError(e)) if e.kind() == io::ErrorKind::NotFound => {}
        result => result?,
    }
    if has_filters(ifindex, INGRESS)? || has_filters(ifindex, EGRESS)? {
        return Ok(());
    }
    match ask(None, DELETE_QDISC, 0, &message(ifindex, HANDLE, PARENT)) {
        Err(e) if !matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => Err(e.into()),
        _ => Ok(()),
    }
}

fn has_filters(ifindex: u32, parent: u32) -> io::Result<bool> {
    let answer = ask(None, GET_FILTER, DUMP, &message(ifindex, 0, parent))?;
    Ok(answer.iter().any(|message| message.kind == NEW_FILTER))
}

/// `struct tcmsg`.
fn message(ifindex: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, ifindex, handle, parent, 0].map(u32::to_ne_bytes).concat()
}
