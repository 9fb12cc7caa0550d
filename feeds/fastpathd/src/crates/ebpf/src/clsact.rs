// SPDX-License-Identifier: GPL-2.0-or-later
//! Attaches and detaches a program at a device's clsact, which is TC before Linux 6.6; a clsact
//! without other filters is removed.

use std::io;

use aya::programs::tc::{NlOptions, TcAttachOptions, qdisc_add_clsact, qdisc_detach_program};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType, TcError};

use netlink::{Client, Protocol, RequestError, messages};

use crate::folder::Folder;
use crate::role::{Dsa, ProgramRole};

const DELETE_QDISC: u16 = 37;
const NEW_FILTER: u16 = 44;
const GET_FILTER: u16 = 46;

const HANDLE: u32 = 0xffff_0000;
const PARENT: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;

/// Attaches the pinned program; it stays until it is detached.
pub(crate) fn attach(folder: &Folder, dsa: Dsa, device: &str) -> Result<(), ProgramError> {
    let mut program = SchedClassifier::from_pin(folder.program(dsa, ProgramRole::Tc))?;
    match qdisc_add_clsact(device) {
        // Exists already, or attaching fails below.
        Ok(()) | Err(TcError::AlreadyAttached | TcError::NetlinkError(_)) => {}
        Err(e) => return Err(e.into()),
    }
    let options = TcAttachOptions::Netlink(NlOptions::default());
    let id = program.attach_with_options(device, TcAttachType::Ingress, options)?;
    // Dropping it would remove the filter.
    std::mem::forget(program.take_link(id)?);
    Ok(())
}

/// Removes our filter, and the clsact if it has no other filter.
pub(crate) fn detach(ifindex: u32, device: &str) -> Result<(), TcError> {
    match qdisc_detach_program(device, TcAttachType::Ingress, ProgramRole::Tc.name()) {
        Err(TcError::IoError(e)) if e.kind() == io::ErrorKind::NotFound => {}
        result => result?,
    }
    remove_if_empty(ifindex).map_err(|e| TcError::IoError(e.into()))
}

fn remove_if_empty(ifindex: u32) -> Result<(), RequestError> {
    let mut client = Client::open(Protocol::Route)?;
    for parent in [INGRESS, EGRESS] {
        let answer = client.dump(GET_FILTER, &message(ifindex, 0, parent))?;
        if messages(&answer).any(|message| message.kind == NEW_FILTER) {
            return Ok(());
        }
    }
    match client.request(DELETE_QDISC, &message(ifindex, HANDLE, PARENT)) {
        Err(e) if !matches!(e.refused(), Some(libc::EINVAL | libc::ENOENT)) => Err(e),
        _ => Ok(()),
    }
}

/// `struct tcmsg`.
fn message(ifindex: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, ifindex, handle, parent, 0].map(u32::to_ne_bytes).concat()
}

#[cfg(test)]
#[expect(unsafe_code, reason = "the tests run in a network namespace of their own")]
mod tests {
    use std::process::Command;

    use rustix::thread::{UnshareFlags, unshare_unsafe};

    use super::remove_if_empty;

    fn tc(arguments: &str) -> String {
        let output = Command::new("tc").args(arguments.split(' ')).output().expect("tc runs");
        assert!(output.status.success(), "tc {arguments}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// qemu-user reports a program that does not exist by its status only.
    fn has_tc() -> bool {
        Command::new("tc").arg("-V").output().is_ok_and(|output| output.status.success())
    }

    #[test]
    fn a_clsact_with_a_filter_of_another_program_stays() {
        if !rustix::process::geteuid().is_root() || !has_tc() {
            println!("skipped: needs root and tc");
            return;
        }
        let test = || {
            // SAFETY: the namespace is that of this thread, which runs only this test.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("a network namespace");
            tc("qdisc add dev lo clsact");
            tc("filter add dev lo egress protocol ip u32 match u8 0 0");
            remove_if_empty(1).expect("asked");
            assert!(tc("qdisc show dev lo").contains("clsact"));
            tc("filter del dev lo egress");
            remove_if_empty(1).expect("removed");
            assert!(!tc("qdisc show dev lo").contains("clsact"));
            remove_if_empty(1).expect("there is none any more");
            assert_eq!(remove_if_empty(4711).expect_err("no such device").refused(), Some(19));
        };
        std::thread::spawn(test).join().expect("the test holds");
    }
}
