// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays the recorded connection of an object. [`Protocol`] must answer like libubus.

use crate::transcript::{Direction, Transcript};
use serde_json::{Value, json};
use ubus::protocol::{Invocation, Output, Protocol, Query, Role};
use ubus::{Attribute, Blobmsg, Frame, Kind, Map, Method, Object, PolicyType, Status};

const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);
const DEMO: &[Method] = &[
    Method {
        name: "echo",
        policy: &[
            SESSION,
            ("msg", PolicyType::String),
            ("n", PolicyType::Int32),
            ("on", PolicyType::Bool),
            ("list", PolicyType::Array),
            ("obj", PolicyType::Table),
        ],
    },
    Method { name: "fail", policy: &[SESSION] },
    Method { name: "empty", policy: &[SESSION] },
    Method { name: "quit", policy: &[SESSION] },
];

fn table(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not a table"),
    }
}

fn echo(args: &Map) -> Map {
    let nested = json!({
        "a": [1, 2, "x", null],
        "b": {"t": true, "d": 3.25, "neg": -5, "i64": 9_007_199_254_740_993_i64},
    });
    table(json!({"you": args, "method": "echo", "nested": nested}))
}

fn answer(call: &Invocation) -> Vec<Frame> {
    let data = |map: &Map| call.address.data(Blobmsg::encode(map).unwrap());
    let ok = call.address.status(Status::Ok);
    match call.method.as_str() {
        "echo" => vec![data(&echo(&call.args)), ok],
        "fail" => vec![call.address.status(Status::PermissionDenied)],
        "empty" => vec![data(&Map::new()), ok],
        _ => vec![data(&table(json!({"ok": true}))), ok],
    }
}

fn publish() -> Query {
    let object = Object { path: "fastpath.demo".to_owned(), methods: DEMO };
    let path = Attribute::ObjectPath(object.path.clone());
    let signature = Attribute::Signature(Blobmsg::encode(&object.signature()).unwrap());
    let attributes = vec![path, signature];
    Query {
        kind: Kind::AddObject,
        peer: 0,
        attributes,
        role: Some(Role::Published { object, checked: true }),
    }
}

#[test]
fn answers_the_recorded_requests_byte_for_byte() {
    let recorded = Transcript::read("001.json").frames();
    let side = |wanted| recorded.iter().filter(move |(direction, _, _)| *direction == wanted);
    let mut protocol = Protocol::default();
    let mut written = vec![protocol.request(publish(), ()).unwrap()];
    let (mut completed, mut subscribers) = (0, Vec::new());
    for (_, frame, _) in side(Direction::FromUbusd) {
        match protocol.receive(frame.clone()) {
            Output::Nothing => {}
            Output::Send(frame) => written.push(frame),
            Output::Invoked(call) => written.extend(answer(&call)),
            Output::Completed((), answer) => {
                assert_eq!(answer.status, Status::Ok);
                completed += 1;
            }
            Output::Subscribers { active, .. } => subscribers.push(active),
            other => panic!("{other:?}"),
        }
    }
    let own = |frame: &&Frame| frame.kind != Kind::Notify;
    let expected: Vec<_> =
        side(Direction::ToUbusd).map(|(_, frame, _)| frame).filter(own).collect();
    assert_eq!(written.iter().collect::<Vec<_>>(), expected);
    assert_eq!(completed, 1, "only the publishing was a request");
    assert_eq!(subscribers.first(), Some(&true));
    assert!(subscribers.contains(&false));
}

fn request(protocol: &mut Protocol<&'static str>, token: &'static str) -> Frame {
    let query = Query { kind: Kind::Invoke, peer: 77, attributes: Vec::new(), role: None };
    protocol.request(query, token).unwrap()
}

fn status(seq: u16, peer: u32) -> Frame {
    Frame { kind: Kind::Status, seq, peer, attributes: vec![Attribute::Status(0)] }
}

#[test]
fn matches_answers_to_requests_in_any_order() {
    let mut protocol = Protocol::default();
    let first = request(&mut protocol, "first");
    let second = request(&mut protocol, "second");
    let done = |output| match output {
        Output::Completed(token, _) => Some(token),
        _ => None,
    };
    assert_eq!(done(protocol.receive(status(second.seq, 77))), Some("second"));
    assert_eq!(done(protocol.receive(status(first.seq, 78))), None, "somebody else's answer");
    assert_eq!(done(protocol.receive(status(first.seq, 77))), Some("first"));
    assert_eq!(done(protocol.receive(status(first.seq, 77))), None, "answered twice");
}

#[test]
fn sequence_numbers_wrap_and_skip_open_requests() {
    let mut protocol = Protocol::default();
    let open = request(&mut protocol, "open");
    for _ in 0..70_000 {
        let frame = request(&mut protocol, "short");
        assert_ne!(frame.seq, open.seq);
        protocol.receive(status(frame.seq, 77));
    }
    protocol.forget(|token| *token == "open");
    assert!(matches!(protocol.receive(status(open.seq, 77)), Output::Nothing));
}

#[test]
fn refuses_unknown_and_mistyped_arguments() {
    let check = |args: Value| DEMO[0].check(&table(args));
    assert_eq!(check(json!({"n": 1, "msg": "x", "ubus_rpc_session": "0"})), Ok(()));
    for wrong in [
        json!({"n": "1"}),
        json!({"n": 2_147_483_648_i64}),
        json!({"n": 1.5}),
        json!({"on": 1}),
        json!({"list": {}}),
        json!({"obj": []}),
        json!({"msg": null}),
        json!({"other": 1}),
    ] {
        assert_eq!(check(wrong.clone()), Err(Status::InvalidArgument), "{wrong}");
    }
}
