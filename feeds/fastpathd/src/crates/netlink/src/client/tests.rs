// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use crate::attribute::attribute;
use crate::family::Family;
use crate::family::contents;

const DONE: u16 = 3;
const DUMP_INTR: u16 = 0x10;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFINFOMSG: usize = 16;

#[test]
fn joins_an_answer_of_several_datagrams() {
    let mut answer = Answer::default();
    assert!(!answer.add(&message(44, 2, 9, &[1; 5]), 9).expect("well formed"));
    let rest = [message(44, 2, 9, &[5; 4]), message(DONE, 2, 9, &[0; 4])].concat();
    assert!(answer.add(&rest, 9).expect("well formed"));
    let payloads: Vec<_> = messages(&answer.messages).map(|found| found.payload.to_vec()).collect();
    assert_eq!(payloads, [vec![1; 5], vec![5; 4]]);
    assert!(!answer.interrupted);
}

#[test]
fn skips_messages_of_an_earlier_answer() {
    let mut answer = Answer::default();
    let refused = message(2, 0, 8, &(-1_i32).to_ne_bytes());
    let stale = [message(44, 0, 8, &[1; 4]), refused].concat();
    assert!(!answer.add(&stale, 9).expect("well formed"));
    assert!(answer.messages.is_empty());
}

#[test]
fn detects_an_interrupted_dump() {
    let mut answer = Answer::default();
    assert!(!answer.add(&message(44, DUMP_INTR, 1, &[1; 4]), 1).expect("well formed"));
    assert!(answer.add(&message(DONE, 0, 1, &[0; 4]), 1).expect("well formed"));
    assert!(answer.interrupted);
}

#[test]
fn rejects_a_truncated_answer() {
    let mut answer = Answer::default();
    let cut = [200, 0, 0, 0, 1, 1];
    assert!(matches!(answer.add(&cut, 1), Err(RequestError::Malformed)));
}

#[test]
fn dumps_the_links_of_this_machine() {
    let mut client = Client::open(Protocol::Route).expect("a socket");
    for _ in 0..2 {
        let answer = client.dump(RTM_GETLINK, &[0; IFINFOMSG]).expect("links");
        assert!(messages(&answer).count() > 0);
        assert!(messages(&answer).all(|found| found.kind == RTM_NEWLINK));
        let name = |payload: &[u8]| attribute(&payload[IFINFOMSG..], 3).map(<[u8]>::to_vec);
        assert!(messages(&answer).any(|found| name(found.payload) == Some(b"lo\0".to_vec())));
    }
}

#[test]
fn reports_the_error_number_for_a_missing_link() {
    let mut link = [0; IFINFOMSG];
    link[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
    let error = request(Protocol::Route, RTM_GETLINK, &link).expect_err("no such link");
    assert_eq!(error.refused(), Some(libc::ENODEV));
    assert_eq!(io::Error::from(error).raw_os_error(), Some(libc::ENODEV));
}

#[test]
fn a_refusal_has_the_error_text_of_the_kernel() {
    // The kernel sends a text for a truncated header.
    let mut client = Client::open(Protocol::Route).expect("a socket");
    client.socket.set_strict().expect("Linux 4.20");
    let error = client.dump(RTM_GETLINK, &[0; 4]).expect_err("too short");
    let RequestError::Refused(refusal) = &error else { panic!("{error}") };
    assert_eq!(refusal.errno, libc::EINVAL);
    assert!(refusal.text.as_deref().is_some_and(|text| text.contains("header")), "{refusal}");
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn families_are_found_by_name() {
    let mut control = Family::open("nlctrl").expect("every kernel has it");
    let mut wanted = Vec::new();
    crate::push_attribute(&mut wanted, 2, b"nlctrl\0");
    let answer = control.request(3, &wanted).expect("known");
    let number = contents(&answer).find_map(|content| attribute(content, 1));
    assert_eq!(number, Some(&16_u16.to_ne_bytes()[..]));
    let error = Family::open("no-such-family").expect_err("unknown");
    assert!(matches!(error, RequestError::NoFamily("no-such-family")));
}
