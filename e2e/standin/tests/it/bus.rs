// SPDX-License-Identifier: GPL-2.0-or-later
//! Behaviour of the bus and of the `ubus` crate that the recordings do not cover.

use std::time::Duration;

use crate::support::{demo, router::Router};
use serde_json::{Value, json};
use ubus::{CallError, Connection, ConnectionError, Incoming, Map, Status};

const CALL_TIMEOUT: Duration = Duration::from_secs(60);

fn table(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not a table"),
    }
}

/// Runs `work` on a single-threaded runtime, like the daemon does.
fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(240), work).await.unwrap() })
}

#[test]
fn a_call_fails_when_its_object_is_removed() {
    let router = Router::start();
    let demo = demo::publish(router.socket.clone(), true);
    on_one_thread(async {
        let connection = Connection::open(&router.socket).await.unwrap();
        let bus = connection.handle();
        let (hung, nothing) = (bus.clone(), Map::new());
        let waiting = async { hung.call("fastpath.demo", "hang", &nothing, CALL_TIMEOUT).await };
        let quitting = async {
            // An unanswered call must not block other calls.
            bus.call("fastpath.demo", "empty", &nothing, CALL_TIMEOUT).await.unwrap();
            bus.call("fastpath.demo", "quit", &nothing, CALL_TIMEOUT).await.unwrap();
        };
        let (answer, ()) = tokio::join!(waiting, quitting);
        let status = answer.unwrap_err().status();
        // Both the dropped `Reply` and the broker answer; either may be first.
        assert!(matches!(status, Status::NotFound | Status::UnknownError), "{status}");
        let gone = bus.call("fastpath.demo", "empty", &nothing, CALL_TIMEOUT).await.unwrap_err();
        assert_eq!(gone.status(), Status::NotFound);
        assert_eq!(gone.to_string(), "call fastpath.demo empty: Not found");
    });
    assert!(demo.join().unwrap().is_none());
}

#[test]
fn a_call_without_an_answer_times_out() {
    let router = Router::start();
    let _demo = demo::publish(router.socket.clone(), true);
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        let within = Duration::from_millis(200);
        let answer = bus.call("fastpath.demo", "hang", &Map::new(), within).await;
        assert!(matches!(answer, Err(CallError::Timeout { .. })), "{answer:?}");
        bus.call("fastpath.demo", "empty", &Map::new(), CALL_TIMEOUT).await.unwrap();
    });
}

#[test]
fn a_publisher_detects_the_end_of_the_bus_and_can_publish_again() {
    let mut router = Router::start();
    let demo = demo::publish(router.socket.clone(), false);
    assert!(router.stop(), "SIGTERM ends it in order");
    let seen = demo.join().unwrap().expect("the publisher sees the end");
    assert!(matches!(seen, ConnectionError::Closed | ConnectionError::Io(_)), "{seen}");
    assert!(!router.socket.exists());
    router.run();
    let _demo = demo::publish(router.socket.clone(), false);
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        let args = table(json!({"msg": "again"}));
        let answer = bus.call("fastpath.demo", "echo", &args, CALL_TIMEOUT).await.unwrap();
        assert_eq!(answer["you"], Value::Object(args));
    });
}

#[test]
fn calls_fail_when_the_bus_ends() {
    let mut router = Router::start();
    let _demo = demo::publish(router.socket.clone(), true);
    on_one_thread(async {
        let mut connection = Connection::open(&router.socket).await.unwrap();
        let bus = connection.handle();
        let nothing = Map::new();
        let call = bus.call("fastpath.demo", "hang", &nothing, CALL_TIMEOUT);
        let stop = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            router.stop()
        };
        let (answer, stopped) = tokio::join!(call, stop);
        assert!(stopped);
        // The object may detect the end of the bus first and drop the call.
        let status = answer.unwrap_err().status();
        let ends = [Status::ConnectionFailed, Status::NotFound, Status::UnknownError];
        assert!(ends.contains(&status), "{status}");
        assert!(connection.next().await.is_err());
        assert!(connection.next().await.is_err(), "asking again is harmless");
        let later = bus.call("fastpath.demo", "empty", &nothing, CALL_TIMEOUT).await;
        assert!(matches!(later, Err(CallError::Disconnected { .. })), "{later:?}");
    });
}

#[test]
fn subscribers_receive_notifications_and_the_removal() {
    let router = Router::start();
    let demo = demo::publish(router.socket.clone(), false);
    on_one_thread(async {
        let mut connection = Connection::open(&router.socket).await.unwrap();
        let bus = connection.handle();
        bus.subscribe("fastpath.demo").await.unwrap();
        bus.listen("ubus.object.*").await.unwrap();
        for _ in 0..2 {
            match connection.next().await.unwrap() {
                Incoming::Notification { object, name, data } => {
                    assert_eq!((object.as_str(), name.as_str()), ("fastpath.demo", "tick"));
                    assert_eq!(data["text"], "hello");
                }
                other => panic!("{other:?}"),
            }
        }
        bus.call("fastpath.demo", "quit", &Map::new(), CALL_TIMEOUT).await.unwrap();
        let (mut unsubscribed, mut removed) = (false, false);
        while !(unsubscribed && removed) {
            match connection.next().await.unwrap() {
                Incoming::Unsubscribed { object } => unsubscribed = object == "fastpath.demo",
                Incoming::Event { id, data } => {
                    removed = id == "ubus.object.remove" && data["path"] == "fastpath.demo";
                }
                _ => {}
            }
        }
    });
    assert!(demo.join().unwrap().is_none());
}

#[test]
fn events_reach_listeners_but_not_the_sender() {
    let router = Router::start();
    on_one_thread(async {
        let mut hearing = Connection::open(&router.socket).await.unwrap();
        let mut sending = Connection::open(&router.socket).await.unwrap();
        hearing.handle().listen("fastpath.*").await.unwrap();
        sending.handle().listen("fastpath.*").await.unwrap();
        let data = table(json!({"a": 1}));
        sending.handle().send_event("other", &data).await.unwrap();
        sending.handle().send_event("fastpath.event", &data).await.unwrap();
        match hearing.next().await.unwrap() {
            Incoming::Event { id, data: received } => {
                assert_eq!((id.as_str(), received), ("fastpath.event", data.clone()));
            }
            other => panic!("{other:?}"),
        }
        let own = tokio::time::timeout(Duration::from_millis(200), sending.next()).await;
        assert!(own.is_err(), "{own:?}");
        let reserved = sending.handle().send_event("ubus.object.add", &data).await.unwrap_err();
        assert_eq!(reserved.status(), Status::PermissionDenied);
    });
}

#[test]
fn a_path_can_be_published_only_once() {
    let router = Router::start();
    let _demo = demo::publish(router.socket.clone(), false);
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        let again = ubus::Object { path: "fastpath.demo".to_owned(), methods: &[] };
        let refused = bus.publish(again).await.unwrap_err();
        assert_eq!(refused.status(), Status::InvalidArgument);
        let found: Vec<String> =
            bus.list("fast*").await.unwrap().into_iter().map(|entry| entry.path).collect();
        assert_eq!(found, ["fastpath.demo"]);
        assert_eq!(bus.list("nosuch").await.unwrap_err().status(), Status::NotFound);
    });
}

#[test]
fn messages_up_to_one_megabyte_pass() {
    let router = Router::start();
    let _demo = demo::publish(router.socket.clone(), false);
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        let args = table(json!({"msg": "x".repeat(900_000)}));
        let answer = bus.call("fastpath.demo", "echo", &args, CALL_TIMEOUT).await.unwrap();
        assert_eq!(answer["you"]["msg"].as_str().unwrap().len(), 900_000);
        let args = table(json!({"msg": "x".repeat(1 << 20)}));
        let refused = bus.call("fastpath.demo", "echo", &args, CALL_TIMEOUT).await;
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{refused:?}");
        bus.call("fastpath.demo", "empty", &Map::new(), CALL_TIMEOUT).await.unwrap();
    });
}

#[test]
fn garbage_disconnects_only_its_sender() {
    use std::io::{Read, Write};
    let router = Router::start();
    let mut stream = std::os::unix::net::UnixStream::connect(&router.socket).unwrap();
    stream.set_read_timeout(Some(CALL_TIMEOUT)).unwrap();
    stream.write_all(&[0xff; 64]).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 12, "only the greeting");
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        assert!(!bus.list("*").await.unwrap().is_empty());
    });
}

#[test]
fn an_interface_that_comes_up_or_goes_down_is_reported() {
    let router = Router::start();
    let network = router.folder.as_ref().unwrap().join("config/network");
    on_one_thread(async {
        let mut connection = Connection::open(&router.socket).await.unwrap();
        connection.handle().subscribe("network.interface").await.unwrap();
        let configured = "config interface 'here'\n\toption device 'lo'\n";
        // A configured device that does not exist acts like a removed one.
        let moved = "config interface 'here'\n\toption device 'none0'\n";
        for (text, event) in [(configured, "interface.update"), (moved, "interface.down")] {
            std::fs::write(&network, text).unwrap();
            match connection.next().await.unwrap() {
                Incoming::Notification { name, data, .. } => {
                    assert_eq!((name.as_str(), &data["interface"]), (event, &json!("here")));
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

/// Waits for a complete line in `file`.
async fn said(file: &std::path::Path) -> String {
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[test]
fn an_event_for_services_reaches_their_triggers() {
    let router = Router::start();
    let happened = router.folder.as_ref().unwrap().join("happened");
    on_one_thread(async {
        let bus = Connection::open(&router.socket).await.unwrap().handle();
        let args = table(json!({"type": "fastpath.ips", "data": {}}));
        let answer = bus.call("service", "event", &args, CALL_TIMEOUT).await.unwrap();
        assert!(answer.is_empty(), "{answer:?}");
        assert_eq!(said(&happened).await, "fastpath.ips\n");
        let changed = json!({"type": "config.change", "data": {"package": "fastpath"}});
        bus.call("service", "event", &table(changed), CALL_TIMEOUT).await.unwrap();
        let reloaded = router.folder.as_ref().unwrap().join("reloaded");
        assert_eq!(said(&reloaded).await, "fastpath\n");
        // procd requires both arguments and their types.
        for bad in [json!({"type": "x"}), json!({"data": {}}), json!({"type": 1, "data": {}})] {
            let refused =
                bus.call("service", "event", &table(bad), CALL_TIMEOUT).await.unwrap_err();
            assert_eq!(refused.status(), Status::InvalidArgument);
        }
        let unknown = bus.call("service", "set", &args, CALL_TIMEOUT).await.unwrap_err();
        assert_eq!(unknown.status(), Status::MethodNotFound);
        // Interface changes also trigger service events.
        let network = router.folder.as_ref().unwrap().join("config/network");
        std::fs::remove_file(&happened).unwrap();
        std::fs::write(&network, "config interface 'here'\n\toption device 'lo'\n").unwrap();
        assert_eq!(said(&happened).await, "interface.update\n");
    });
}
