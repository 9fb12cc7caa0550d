// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.demo`, equal to the one in ucode that was recorded.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use ubus::{
    Connection, ConnectionError, Incoming, Map, Method, Object, PolicyType, Request, Status,
};

const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);
const METHODS: &[Method] = &[
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
    // Not in the recordings: never answers, to test timeouts.
    Method { name: "hang", policy: &[SESSION] },
];

fn table(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not a table"),
    }
}

/// Answers a call. Returns true if the object must be removed.
fn answer(request: Request, hanging: &mut Vec<Request>) -> bool {
    let quits = request.method == "quit";
    match request.method.as_str() {
        "echo" => {
            let nested = json!({
                "a": [1, 2, "x", null],
                "b": {"t": true, "d": 3.25, "neg": -5, "i64": 9_007_199_254_740_993_i64},
            });
            let echo = json!({"you": request.args, "method": "echo", "nested": nested});
            request.reply.data(&table(echo)).unwrap();
        }
        "fail" => request.reply.status(Status::PermissionDenied),
        "empty" => request.reply.data(&Map::new()).unwrap(),
        "hang" => hanging.push(request),
        _ => request.reply.data(&table(json!({"ok": true}))).unwrap(),
    }
    quits
}

/// Serves until `quit` is called (`None`) or the bus ends (`Some`).
async fn serve(socket: PathBuf, ready: mpsc::Sender<()>, hang: bool) -> Option<ConnectionError> {
    let mut connection = Connection::open(&socket).await.unwrap();
    let bus = connection.handle();
    let methods = if hang { METHODS } else { &METHODS[..4] };
    bus.publish(Object { path: "fastpath.demo".to_owned(), methods }).await.unwrap();
    ready.send(()).unwrap();
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut hanging = Vec::new();
    loop {
        tokio::select! {
            incoming = connection.next() => match incoming {
                Ok(Incoming::Invoke(request)) => if answer(request, &mut hanging) {
                    // Let the answer leave before the connection closes.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    return None;
                },
                Ok(_) => {}
                Err(error) => return Some(error),
            },
            _ = tick.tick() => {
                let data = table(json!({"seq": 1, "text": "hello"}));
                bus.notify("fastpath.demo", "tick", &data).unwrap();
            }
        }
    }
}

/// Publishes the object on its own thread and waits until it is callable.
pub(crate) fn publish(socket: PathBuf, hang: bool) -> JoinHandle<Option<ConnectionError>> {
    let (ready, published) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(serve(socket, ready, hang))
    });
    published.recv_timeout(Duration::from_secs(60)).expect("the object is published");
    thread
}
