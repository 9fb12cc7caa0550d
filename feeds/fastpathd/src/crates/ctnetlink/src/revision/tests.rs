// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;

const INET: u8 = 1;

fn message(kind: u16, family: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut payload = vec![family, 0, 0, 0];
    for (key, value) in attributes {
        netlink::push_attribute(&mut payload, *key, value);
    }
    netlink::message(SUBSYSTEM | kind, 0, 0, &payload)
}

/// Builds a message about a table, with an unrelated attribute before the name.
fn about(kind: u16, family: u8, table: &[u8]) -> Vec<u8> {
    message(kind, family, &[(9, &[0, 0, 0]), (TABLE, table)])
}

fn generation() -> Vec<u8> {
    // Attribute 1 is the generation here, and the table name in other messages.
    message(15, 0, &[(1, &[0, 0, 0, 7]), (2, &[0, 0, 1, 0]), (3, b"nft\0")])
}

fn take(messages: &[Vec<u8>]) -> Option<Revision> {
    Revisions::of(INET, "fastpath").take(&messages.concat())
}

fn touched(messages: &[Vec<u8>]) -> Touch {
    let mut messages = messages.to_vec();
    messages.push(generation());
    take(&messages).expect("a transaction").table
}

#[test]
fn reports_a_transaction_when_it_ends() {
    let mut revisions = Revisions::of(INET, "fastpath");
    assert_eq!(revisions.take(&about(6, INET, b"fw4\0")), None);
    assert_eq!(revisions.take(&about(2, INET, b"fastpath\0")), None);
    let revision = revisions.take(&generation()).expect("a transaction");
    assert_eq!(revision, Revision { table: Touch::Gone, others: true, elements: false });
    assert_eq!(revisions.take(&generation()), Some(Revision::default()), "an empty one");
}

#[test]
fn reports_a_replaced_table_as_changed() {
    let [made, removed] = [0, 2].map(|kind| about(kind, INET, b"fastpath\0"));
    let [chain, rule] = [3, 6].map(|kind| about(kind, INET, b"fastpath\0"));
    let replaced = [&made, &removed, &made, &chain, &rule].map(Clone::clone);
    assert_eq!(touched(&replaced), Touch::Changed);
    let flushed = [&about(8, INET, b"fastpath\0"), &removed, &chain].map(Clone::clone);
    assert_eq!(touched(&flushed), Touch::Gone);
    assert_eq!(touched(&[about(8, INET, b"fastpath\0")]), Touch::Changed, "a rule");
    assert_eq!(touched(&[about(12, INET, b"fastpath\0")]), Touch::None, "an element");
}

#[test]
fn recognises_a_table_by_family_and_full_name() {
    for (family, name) in [(2, &b"fastpath\0"[..]), (INET, b"fastpath2\0"), (INET, b"fast\0")] {
        let revision = take(&[about(2, family, name), generation()]).expect("a transaction");
        assert_eq!(revision, Revision { others: true, ..Revision::default() });
    }
}

#[test]
fn reports_set_elements_of_other_tables_separately() {
    let revision = take(&[about(12, INET, b"fw4\0"), generation()]).expect("a transaction");
    assert_eq!(revision, Revision { elements: true, ..Revision::default() });
}

#[test]
fn combines_transactions_in_one_datagram() {
    let removed = about(2, INET, b"fastpath\0");
    let revision = take(&[removed, generation(), about(0, INET, b"x\0"), generation()]);
    let both = Revision { table: Touch::Gone, others: true, elements: false };
    assert_eq!(revision, Some(both));
}

#[test]
fn stops_at_a_malformed_message() {
    let whole = about(2, INET, b"fastpath\0");
    for length in 0..whole.len() {
        let _ = take(&[whole[..length].to_vec()]);
    }
    let mut endless = about(6, INET, b"fastpath\0");
    endless[20..22].copy_from_slice(&0_u16.to_ne_bytes());
    assert_eq!(touched(&[endless]), Touch::None);
}
