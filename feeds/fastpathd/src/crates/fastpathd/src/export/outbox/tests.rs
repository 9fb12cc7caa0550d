// SPDX-License-Identifier: GPL-2.0-or-later

use std::rc::Rc;

use ipfix::Protocol;

use super::*;
use crate::export::fixture::{self, queue};

fn settings() -> Settings {
    fixture::settings(Protocol::Udp, "192.0.2.10:4739".parse().unwrap())
}

fn names() -> Interfaces {
    Rc::new([(8, Rc::from("pppoe-wan"))])
}

fn head(message: &[u8]) -> (u16, u32) {
    let sequence = message[8..12].try_into().unwrap();
    (u16::from_be_bytes([message[16], message[17]]), u32::from_be_bytes(sequence))
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn send(outbox: &mut Outbox, queue: &mut Queue, permit: Permit, at: Duration) -> Vec<(u16, u32)> {
    let mut heads = Vec::new();
    while let Some(message) = outbox.next(queue, 1, permit) {
        heads.push(head(message));
        let bytes = message.len();
        outbox.written(bytes, at);
    }
    heads
}

#[test]
fn sends_templates_and_names_before_records() {
    let (mut outbox, mut queue) = (Outbox::new(&settings()), queue(3));
    outbox.restart(&names());
    assert_eq!(send(&mut outbox, &mut queue, Permit::Templates, ms(0)), [(2, 0), (258, 0)]);
    assert_eq!(send(&mut outbox, &mut queue, Permit::Full, ms(0)), [], "no message is full");
    assert_eq!(send(&mut outbox, &mut queue, Permit::All, ms(0)), [(256, 1)]);
    outbox.repeat_templates();
    assert_eq!(send(&mut outbox, &mut queue, Permit::Full, ms(0)), [(2, 4)]);
    outbox.update_names(&names());
    assert_eq!(send(&mut outbox, &mut queue, Permit::Full, ms(0)), [(258, 4)]);
}

#[test]
fn sends_a_full_message_with_permit_full() {
    let (mut outbox, mut queue) = (Outbox::new(&settings()), queue(30));
    outbox.restart(&names());
    let heads = send(&mut outbox, &mut queue, Permit::Full, ms(0));
    assert!(heads.len() > 3, "{heads:?}");
    assert!(queue.len() < 12 && !queue.is_empty(), "{}", queue.len());
}

/// Only records of the last half second may still be refused.
#[test]
fn refused_records_are_lost() {
    let mut outbox = Outbox::new(&settings());
    outbox.restart(&names());
    send(&mut outbox, &mut queue(5), Permit::All, ms(0));
    send(&mut outbox, &mut queue(3), Permit::All, ms(400));
    assert_eq!((outbox.sent, outbox.lost, outbox.pending()), (0, 0, 8));
    outbox.closed(ms(600));
    assert_eq!((outbox.sent, outbox.lost, outbox.pending()), (5, 3, 0));
    send(&mut outbox, &mut queue(2), Permit::All, ms(700));
    outbox.confirm(ms(1200));
    assert_eq!((outbox.sent, outbox.lost, outbox.pending()), (7, 3, 0));
}

#[test]
fn repeats_an_incomplete_message_in_the_next_session() {
    let (mut outbox, mut queue) = (Outbox::new(&settings()), queue(3));
    outbox.restart(&names());
    send(&mut outbox, &mut queue, Permit::Templates, ms(0));
    let whole = outbox.next(&mut queue, 1, Permit::All).unwrap().to_vec();
    outbox.written(100, ms(0));
    outbox.closed(ms(0));
    assert_eq!((outbox.lost, outbox.pending(), queue.len()), (0, 3, 0));
    outbox.restart(&names());
    assert_eq!(send(&mut outbox, &mut queue, Permit::Templates, ms(1)), [(2, 0), (258, 0)]);
    let again = outbox.next(&mut queue, 1, Permit::Full).unwrap().to_vec();
    assert_eq!(again[12..], whole[12..]);
    assert_eq!(head(&again), (256, 1));
    outbox.written(again.len(), ms(1));
    queue = super::tests::queue(1);
    assert_eq!(send(&mut outbox, &mut queue, Permit::All, ms(1)), [(256, 4)]);
    outbox.confirm(ms(501));
    assert_eq!((outbox.sent, outbox.lost, outbox.pending()), (4, 0, 0));
}

/// The repeated message has the sequence number of the new session.
#[test]
fn sends_a_repeated_message_after_the_names() {
    let (mut outbox, mut first) = (Outbox::new(&settings()), queue(2));
    outbox.restart(&(Rc::new([]) as Interfaces));
    send(&mut outbox, &mut first, Permit::Templates, ms(0));
    assert_eq!(head(outbox.next(&mut first, 1, Permit::All).unwrap()), (256, 0));
    outbox.restart(&names());
    let heads = send(&mut outbox, &mut first, Permit::All, ms(0));
    assert_eq!(heads, [(2, 0), (258, 0), (256, 1)]);
}
