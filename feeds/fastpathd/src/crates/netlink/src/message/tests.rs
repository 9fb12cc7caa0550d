// SPDX-License-Identifier: GPL-2.0-or-later

use proptest::prelude::*;

use super::*;
use crate::attribute::push_attribute;

/// Builds the kernel's error reply to a request of 20 bytes.
fn refusal(flags: u16, text: &str) -> Vec<u8> {
    let request = message(40, REQUEST | ACK, 7, &[1, 2, 3, 4]);
    let mut payload = (-22_i32).to_ne_bytes().to_vec();
    payload.extend(if flags & CAPPED == 0 { &request } else { &request[..HEADER] });
    push_attribute(&mut payload, ERROR_TEXT, text.as_bytes());
    message(ERROR, flags, 7, &payload)
}

fn end(bytes: &[u8]) -> Option<Result<(), Refusal>> {
    messages(bytes).next().expect("a message").end()
}

#[test]
fn an_answer_ends_with_done_or_an_error() {
    assert_eq!(end(&message(44, 0, 1, &[1, 2, 3, 4])), None);
    assert_eq!(end(&message(DONE, 0, 1, &[0; 4])), Some(Ok(())));
    assert_eq!(end(&message(DONE, 0, 1, &[])), Some(Ok(())));
    assert_eq!(end(&message(ERROR, 0, 1, &[0; 20])), Some(Ok(())));
    let refused = end(&message(DONE, 0, 1, &(-19_i32).to_ne_bytes()));
    assert_eq!(refused, Some(Err(Refusal { errno: 19, text: None })));
    let lowest = end(&message(ERROR, 0, 1, &i32::MIN.to_ne_bytes()));
    assert_eq!(lowest, Some(Err(Refusal { errno: i32::MAX, text: None })));
}

#[test]
fn a_refusal_has_the_text_of_the_extended_acknowledgement() {
    for flags in [ACK_TLVS, ACK_TLVS | CAPPED] {
        let Some(Err(refused)) = end(&refusal(flags, "Device is busy\0")) else { panic!() };
        assert_eq!(refused.text.as_deref(), Some("Device is busy"));
        assert_eq!(refused.to_string(), "Invalid argument (os error 22): Device is busy");
    }
    let Some(Err(refused)) = end(&refusal(0, "Device is busy\0")) else { panic!() };
    assert_eq!(refused.to_string(), "Invalid argument (os error 22)");
}

#[test]
fn the_error_text_of_a_refused_dump_is_read() {
    let mut payload = (-22_i32).to_ne_bytes().to_vec();
    push_attribute(&mut payload, ERROR_TEXT, b"Unknown filter\0");
    let Some(Err(refused)) = end(&message(DONE, ACK_TLVS, 1, &payload)) else { panic!() };
    assert_eq!(refused.text.as_deref(), Some("Unknown filter"));
}

#[test]
fn messages_round_trip() {
    let mut bytes = message(16, REQUEST, 1, &[1, 2, 3, 4, 5]);
    bytes.extend(message(17, DUMP, 2, &[]));
    let mut all = messages(&bytes);
    let first = all.next().expect("a message");
    assert_eq!((first.kind, first.flags, first.seq), (16, REQUEST, 1));
    assert_eq!(first.payload, [1, 2, 3, 4, 5]);
    let second = all.next().expect("a message");
    assert_eq!((second.kind, second.flags, second.seq, second.payload), (17, DUMP, 2, &[][..]));
    assert!(all.next().is_none() && !all.is_truncated());
}

#[test]
fn stops_at_an_incomplete_message() {
    let whole = message(16, 0, 1, &[0; 8]);
    for length in 1..whole.len() {
        let mut all = messages(&whole[..length]);
        assert!(all.next().is_none() && all.is_truncated(), "{length}");
    }
    let mut short = whole;
    short[0] = 15;
    assert!(messages(&short).next().is_none());
}

/// Decodes all messages and returns the number of decoded bytes.
fn read(bytes: &[u8]) -> usize {
    let read = |message: Message<'_>| {
        let _ = (message.end(), message.is_interrupted(), message.is_content());
        HEADER + message.payload.len()
    };
    messages(bytes).map(read).sum()
}

#[test]
fn reads_a_refusal_with_any_byte_changed_without_panic() {
    for flags in [0, ACK_TLVS, ACK_TLVS | CAPPED] {
        let whole = refusal(flags, "text\0");
        for at in 0..whole.len() {
            for value in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                read(&bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn reads_any_bytes_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&bytes) <= bytes.len());
    }
}
