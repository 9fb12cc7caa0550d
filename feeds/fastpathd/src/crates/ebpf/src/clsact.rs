// SPDX-License-Identifier: GPL-2.0-or-later
//! Attaches programs to clsact, the TC hook before Linux 6.6, and detaches them. Removes a clsact
//! without filters.

use std::os::fd::BorrowedFd;

use netlink::{
    CREATE, Client, EXCL, Protocol, RequestError, attribute, messages, push_attribute, push_nested,
};

use crate::role::ProgramRole;
use crate::sys;

const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
const NEW_FILTER: u16 = 44;
const DELETE_FILTER: u16 = 45;
const GET_FILTER: u16 = 46;

const HANDLE: u32 = 0xffff_0000;
const PARENT: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;

/// Size of `struct tcmsg`.
const TCMSG: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;

const BPF_FD: u16 = 6;
const BPF_NAME: u16 = 7;
const BPF_FLAGS: u16 = 8;
const BPF_ID: u16 = 11;

/// Attaches a program. The filter outlives the process.
pub(crate) fn attach(program: BorrowedFd<'_>, ifindex: u32) -> Result<(), RequestError> {
    let mut client = Client::open(Protocol::Route)?;
    match client.request_with(NEW_QDISC, CREATE | EXCL, &clsact(ifindex)) {
        Err(e) if e.refused() != Some(libc::EEXIST) => return Err(e),
        _ => {}
    }
    if let Err(e) = client.request_with(NEW_FILTER, CREATE | EXCL, &filter(program, ifindex)) {
        drop(remove_if_empty(&mut client, ifindex));
        return Err(e);
    }
    Ok(())
}

/// Removes our filters, and the clsact if it has no other filter. `program` is the ID of our
/// program, if known.
pub(crate) fn detach(ifindex: u32, program: Option<u32>) -> Result<(), RequestError> {
    let mut client = Client::open(Protocol::Route)?;
    let answer = filters(&mut client, ifindex, INGRESS)?;
    for (handle, info) in payloads(&answer).filter_map(|filter| ours(filter, program)) {
        let request = message(ifindex, handle, INGRESS, info);
        ignore_missing(client.request(DELETE_FILTER, &request))?;
    }
    remove_if_empty(&mut client, ifindex)
}

pub(crate) fn has_program(ifindex: u32, program: u32) -> Result<bool, RequestError> {
    let mut client = Client::open(Protocol::Route)?;
    let answer = filters(&mut client, ifindex, INGRESS)?;
    Ok(payloads(&answer).any(|filter| program_of(filter) == Some(program)))
}

fn filters(client: &mut Client, ifindex: u32, parent: u32) -> Result<Vec<u8>, RequestError> {
    client.dump(GET_FILTER, &message(ifindex, 0, parent, 0))
}

fn payloads(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    messages(answer).filter(|message| message.kind == NEW_FILTER).map(|message| message.payload)
}

fn program_of(payload: &[u8]) -> Option<u32> {
    attribute(options(payload)?, BPF_ID).and_then(|id| word_at(id, 0))
}

/// Returns the options of a filter, or `None` if its kind is not `bpf`.
fn options(payload: &[u8]) -> Option<&[u8]> {
    let (_, attributes) = payload.split_at_checked(TCMSG)?;
    attribute(attributes, OPTIONS).filter(|_| has(attributes, KIND, "bpf"))
}

/// Returns handle and `tcm_info` of a filter with our program or our name, otherwise `None`.
fn ours(payload: &[u8], program: Option<u32>) -> Option<(u32, u32)> {
    let is_named = has(options(payload)?, BPF_NAME, ProgramRole::Tc.name());
    let is_ours = is_named || program.is_some() && program_of(payload) == program;
    is_ours.then_some((word_at(payload, 8)?, word_at(payload, 16)?))
}

fn remove_if_empty(client: &mut Client, ifindex: u32) -> Result<(), RequestError> {
    for parent in [INGRESS, EGRESS] {
        if payloads(&filters(client, ifindex, parent)?).next().is_some() {
            return Ok(());
        }
    }
    ignore_missing(client.request(DELETE_QDISC, &message(ifindex, HANDLE, PARENT, 0)))
}

/// Treats the removal of a missing filter or clsact as success.
fn ignore_missing(answer: Result<Vec<u8>, RequestError>) -> Result<(), RequestError> {
    match answer {
        Err(e) if !matches!(e.refused(), Some(libc::EINVAL | libc::ENOENT)) => Err(e),
        _ => Ok(()),
    }
}

fn clsact(ifindex: u32) -> Vec<u8> {
    let mut payload = message(ifindex, HANDLE, PARENT, 0);
    push_attribute(&mut payload, KIND, b"clsact\0");
    payload
}

/// Builds a `direct-action` filter for all ingress packets.
fn filter(program: BorrowedFd<'_>, ifindex: u32) -> Vec<u8> {
    const ALL: u16 = 3;
    const DIRECT_ACTION: u32 = 1;
    let name = [ProgramRole::Tc.name().as_bytes(), b"\0"].concat();
    // The kernel chooses handle and priority.
    let mut payload = message(ifindex, 0, INGRESS, ALL.to_be().into());
    push_attribute(&mut payload, KIND, b"bpf\0");
    push_nested(&mut payload, OPTIONS, |options| {
        push_attribute(options, BPF_FD, &sys::number(program).to_ne_bytes());
        push_attribute(options, BPF_NAME, &name);
        push_attribute(options, BPF_FLAGS, &DIRECT_ACTION.to_ne_bytes());
    });
    payload
}

fn message(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, ifindex, handle, parent, info].map(u32::to_ne_bytes).concat()
}

fn has(attributes: &[u8], kind: u16, text: &str) -> bool {
    attribute(attributes, kind).and_then(|value| value.strip_suffix(b"\0")) == Some(text.as_bytes())
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
#[expect(unsafe_code, reason = "the tests run in a network namespace of their own")]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::process::Command;

    use rustix::thread::{UnshareFlags, unshare_unsafe};

    use super::*;

    fn tc(arguments: &str) -> String {
        let output = Command::new("tc").args(arguments.split(' ')).output().expect("tc runs");
        assert!(output.status.success(), "tc {arguments}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Checks the exit status, because qemu-user starts missing programs.
    fn has_tc() -> bool {
        Command::new("tc").arg("-V").output().is_ok_and(|output| output.status.success())
    }

    fn in_a_namespace(test: impl FnOnce() + Send + 'static) {
        if !rustix::process::geteuid().is_root() || !has_tc() {
            println!("skipped: needs root and tc");
            return;
        }
        let test = || {
            // SAFETY: only this thread enters the namespace, and it runs only this test.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("a network namespace");
            test();
        };
        std::thread::spawn(test).join().expect("the test holds");
    }

    #[test]
    fn keeps_a_clsact_with_filters_of_other_programs() {
        in_a_namespace(|| {
            tc("qdisc add dev lo clsact");
            // The filter of a shaped WAN.
            tc("filter add dev lo egress pref 64087 protocol ip u32 match u8 0 0");
            detach(1, None).expect("asked");
            assert!(tc("qdisc show dev lo").contains("clsact"));
            assert!(tc("filter show dev lo egress").contains("pref 64087"));
            tc("filter del dev lo egress");
            detach(1, None).expect("removed");
            assert!(!tc("qdisc show dev lo").contains("clsact"));
            detach(1, None).expect("nothing to remove");
            assert_eq!(detach(4711, None).expect_err("no such device").refused(), Some(19));
        });
    }

    #[test]
    fn removes_the_clsact_if_the_program_is_refused() {
        in_a_namespace(|| {
            let file = File::open("/dev/null").expect("opened");
            attach(file.as_fd(), 1).expect_err("not a program");
            assert!(!tc("qdisc show dev lo").contains("clsact"));
        });
    }

    /// Builds a filter as dumped by the kernel.
    fn dumped(kind: &str, name: &str, id: Option<u32>) -> Vec<u8> {
        let text = |text: &str| [text.as_bytes(), b"\0"].concat();
        let mut options = Vec::new();
        push_attribute(&mut options, BPF_NAME, &text(name));
        if let Some(id) = id {
            push_attribute(&mut options, BPF_ID, &id.to_ne_bytes());
        }
        let mut payload = message(3, 1, INGRESS, 0xc000_0300);
        push_attribute(&mut payload, KIND, &text(kind));
        push_attribute(&mut payload, OPTIONS, &options);
        payload
    }

    #[test]
    fn recognises_our_filter_by_program_or_name() {
        let found = |kind, name, id, program| ours(&dumped(kind, name, id), program).is_some();
        assert!(found("bpf", "", Some(7), Some(7)), "without a name");
        assert!(found("bpf", "fastpath_tc", Some(6), Some(7)), "of an earlier object");
        assert!(found("bpf", "fastpath_tc", None, None));
        assert!(!found("bpf", "", Some(6), Some(7)), "of another program");
        // A filter of classic BPF has no program ID.
        assert!(!found("bpf", "", None, None));
        assert!(!found("bpf", "fastpath_tc2", Some(6), None));
        assert!(!found("u32", "fastpath_tc", Some(7), Some(7)));
        assert_eq!(program_of(&dumped("bpf", "", Some(7))), Some(7));
        assert_eq!(program_of(&dumped("bpf", "", None)), None);
        assert_eq!(program_of(&dumped("u32", "", Some(7))), None);
        let whole = dumped("bpf", "", Some(7));
        assert_eq!(ours(&whole, Some(7)), Some((1, 0xc000_0300)));
        assert_eq!(ours(&whole[..TCMSG], Some(7)), None, "the chain itself");
        assert_eq!(ours(&whole[..7], Some(7)), None, "cut short");
    }
}
