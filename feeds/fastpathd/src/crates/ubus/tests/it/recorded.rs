// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the codec with transcripts of ubusd, its command-line client and an object in ucode.

use crate::transcript::{self, Direction, Transcript};
use serde_json::json;
use ubus::{Blobmsg, Frame, Kind, Status};

#[test]
fn reencodes_each_recorded_frame_unchanged() {
    let mut frames = 0;
    for transcript in transcript::all() {
        for (_, frame, bytes) in transcript.frames() {
            assert_eq!(frame.encode().unwrap(), bytes, "{}: {frame:?}", transcript.name);
            frames += 1;
        }
    }
    assert!(frames > 100, "only {frames} frames");
}

#[test]
fn reencodes_each_recorded_table_unchanged() {
    let mut tables = 0;
    for transcript in transcript::all() {
        for (_, frame, _) in transcript.frames() {
            for table in [frame.data(), frame.signature()].into_iter().flatten() {
                let map = table.decode().unwrap();
                assert_eq!(Blobmsg::encode(&map).as_ref(), Ok(table), "{map:?}");
                tables += 1;
            }
        }
    }
    assert!(tables > 50, "only {tables} tables");
}

fn find(transcript: &Transcript, direction: Direction, kind: Kind, method: &str) -> Frame {
    let wanted = |frame: &Frame| frame.kind == kind && frame.method() == Some(method);
    let mut frames =
        transcript.frames().into_iter().filter(|(d, frame, _)| *d == direction && wanted(frame));
    frames.next().unwrap().1
}

#[test]
fn decodes_a_call_with_arguments_and_caller() {
    let publisher = Transcript::read("001.json");
    let call = find(&publisher, Direction::FromUbusd, Kind::Invoke, "echo");
    assert_eq!(call.object_id(), Some(0xd737_53c8));
    assert_eq!((call.user(), call.group()), (Some("root"), Some("root")));
    let args = serde_json::Value::Object(call.data().unwrap().decode().unwrap());
    let sent = json!({"msg": "hi", "n": 7, "on": false, "list": [1, "b"], "obj": {"k": "v"}});
    assert_eq!(args, sent);
}

#[test]
fn decodes_every_json_type_of_a_result() {
    let publisher = Transcript::read("001.json");
    let frames = publisher.frames();
    let data = frames.iter().filter(|(direction, frame, _)| {
        *direction == Direction::ToUbusd && frame.kind == Kind::Data
    });
    let result = data.clone().next().unwrap().1.data().unwrap().decode().unwrap();
    let nested = json!({
        "a": [1, 2, "x", null],
        "b": {"t": true, "d": 3.25, "neg": -5, "i64": 9_007_199_254_740_993_i64},
    });
    assert_eq!(result["nested"], nested);
}

#[test]
fn the_answer_to_a_notification_lists_its_subscribers() {
    let publisher = Transcript::read("001.json");
    let notify = find(&publisher, Direction::ToUbusd, Kind::Notify, "tick");
    assert_eq!(notify.data().unwrap().decode().unwrap()["text"], "hello");
    let subscribers = publisher.frames().into_iter().find_map(|(_, frame, _)| {
        frame.attributes.into_iter().find_map(|attribute| match attribute {
            ubus::Attribute::Subscribers(ids) => Some(ids),
            _ => None,
        })
    });
    assert_eq!(subscribers, Some(vec![0x27ae_7aad]));
}

#[test]
fn decodes_the_status_that_the_command_line_client_printed() {
    let last_status = |name| {
        let frames = Transcript::read(name).frames();
        let mut from = frames.iter().rev().filter(|(d, _, _)| *d == Direction::FromUbusd);
        from.find_map(|(_, frame, _)| frame.status()).unwrap()
    };
    assert_eq!(last_status("004.json"), Status::Ok);
    assert_eq!(last_status("006.json"), Status::PermissionDenied);
    assert_eq!(last_status("007.json"), Status::MethodNotFound);
    assert_eq!(last_status("008.json"), Status::NotFound);
    assert_eq!(last_status("009.json"), Status::InvalidArgument);
}
