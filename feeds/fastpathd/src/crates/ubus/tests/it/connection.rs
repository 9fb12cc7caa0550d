// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests a connection to a stand-in for ubusd.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use ubus::{
    Attribute, Blobmsg, CallError, ConnectError, Connection, ConnectionError, Decoder, Frame,
    Incoming, Kind, Map, Method, Object, PolicyType, Status,
};

const METHODS: &[Method] = &[
    Method { name: "echo", policy: &[("n", PolicyType::Int32)] },
    Method { name: "say", policy: &[("text", PolicyType::String)] },
];
const OBJECT: u32 = 4242;
const CALLER: u32 = 7777;

fn frame(kind: Kind, seq: u16, peer: u32, attributes: Vec<Attribute>) -> Frame {
    Frame { kind, seq, peer, attributes }
}

/// Socket of the stand-in, removed on drop.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    fn new() -> Socket {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ubus-test-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Socket { listener: UnixListener::bind(&path).unwrap(), path }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// ubusd's end of one connection.
struct Ubusd {
    stream: UnixStream,
    decoder: Decoder,
}

impl Ubusd {
    async fn send(&mut self, frame: Frame) {
        self.stream.write_all(&frame.encode().unwrap()).await.unwrap();
    }

    async fn next(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                return frame;
            }
            let mut bytes = vec![0; 65_536];
            let len = soon(self.stream.read(&mut bytes)).await.unwrap();
            assert_ne!(len, 0, "the client hung up");
            self.decoder.extend(&bytes[..len]);
        }
    }

    async fn accept_object(&mut self) {
        let request = self.next().await;
        assert_eq!(request.kind, Kind::AddObject);
        let id = vec![Attribute::ObjectId(OBJECT)];
        self.send(frame(Kind::Data, request.seq, 0, id)).await;
        self.send(frame(Kind::Status, request.seq, 0, vec![Attribute::Status(0)])).await;
    }

    async fn invoke(&mut self, seq: u16, method: &str, args: &Map) {
        let attributes = vec![
            Attribute::ObjectId(OBJECT),
            Attribute::Method(method.to_owned()),
            Attribute::Data(Blobmsg::encode(args).unwrap()),
        ];
        self.send(frame(Kind::Invoke, seq, CALLER, attributes)).await;
    }

    async fn expect_status(&mut self, seq: u16, status: Status) {
        let answer = self.next().await;
        assert_eq!((answer.kind, answer.seq, answer.peer), (Kind::Status, seq, CALLER));
        assert_eq!((answer.status(), answer.object_id()), (Some(status), Some(OBJECT)));
    }
}

/// Returns both ends of an open connection.
async fn pair() -> (Connection, Ubusd) {
    let socket = Socket::new();
    let (connection, ubusd) = tokio::join!(Connection::open(&socket.path), async {
        let (stream, _) = socket.listener.accept().await.unwrap();
        let mut ubusd = Ubusd { stream, decoder: Decoder::default() };
        ubusd.send(frame(Kind::Hello, 0, 99, Vec::new())).await;
        ubusd
    });
    (connection.unwrap(), ubusd)
}

/// Returns a [`pair`] with a published object.
async fn published() -> (Connection, Ubusd) {
    let (connection, mut ubusd) = pair().await;
    let bus = connection.handle();
    let object = Object { path: "test".to_owned(), methods: METHODS };
    let (outcome, ()) = tokio::join!(bus.publish(object), ubusd.accept_object());
    outcome.unwrap();
    (connection, ubusd)
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), work).await.unwrap()
}

fn map(name: &str, value: impl Into<serde_json::Value>) -> Map {
    Map::from_iter([(name.to_owned(), value.into())])
}

#[tokio::test]
async fn a_missing_or_malformed_ubusd_is_an_error() {
    let path = std::env::temp_dir().join("no-such.sock");
    let missing = Connection::open(&path).await.err().unwrap();
    assert!(matches!(missing, ConnectError::Socket { .. }), "{missing}");
    for (greeting, malformed) in [(&b""[..], false), (&[0xff; 12][..], true)] {
        let socket = Socket::new();
        let (opened, ()) = tokio::join!(Connection::open(&socket.path), async {
            let (mut stream, _) = socket.listener.accept().await.unwrap();
            stream.write_all(greeting).await.unwrap();
        });
        let Err(ConnectError::Hello { source, .. }) = opened else { panic!("it was greeted") };
        assert_eq!(matches!(source, ConnectionError::Malformed(_)), malformed, "{source}");
    }
}

#[tokio::test]
async fn forwards_a_call_to_the_program_and_the_answer_to_the_caller() {
    let (mut connection, mut ubusd) = published().await;
    ubusd.invoke(5, "echo", &map("n", 1)).await;
    let Incoming::Invoke(request) = soon(connection.next()).await.unwrap() else {
        panic!("no call")
    };
    assert_eq!((request.object.as_str(), request.method.as_str()), ("test", "echo"));
    request.reply.data(&request.args).unwrap();
    let data = ubusd.next().await;
    assert_eq!((data.kind, data.seq, data.peer), (Kind::Data, 5, CALLER));
    assert_eq!(data.data().unwrap().decode().unwrap(), map("n", 1));
    ubusd.expect_status(5, Status::Ok).await;
}

#[tokio::test]
async fn refuses_invalid_calls_without_passing_them_to_the_program() {
    let (connection, mut ubusd) = published().await;
    for (seq, (method, args, status)) in (1..).zip([
        ("nosuch", Map::new(), Status::MethodNotFound),
        ("echo", map("n", "x"), Status::InvalidArgument),
        ("echo", map("other", 1), Status::InvalidArgument),
    ]) {
        ubusd.invoke(seq, method, &args).await;
        ubusd.expect_status(seq, status).await;
    }
    drop(connection);
}

#[tokio::test]
async fn answers_a_call_that_the_program_dropped() {
    let (mut connection, mut ubusd) = published().await;
    ubusd.invoke(1, "echo", &Map::new()).await;
    drop(soon(connection.next()).await.unwrap());
    ubusd.expect_status(1, Status::UnknownError).await;
}

#[tokio::test]
async fn reports_a_too_large_answer_to_program_and_caller() {
    let (mut connection, mut ubusd) = published().await;
    ubusd.invoke(1, "echo", &Map::new()).await;
    let Incoming::Invoke(request) = soon(connection.next()).await.unwrap() else {
        panic!("no call")
    };
    assert!(request.reply.data(&map("text", "x".repeat(ubus::MAX_MESSAGE))).is_err());
    ubusd.expect_status(1, Status::SystemError).await;
}

#[tokio::test]
async fn refuses_calls_beyond_the_backlog() {
    let (mut connection, mut ubusd) = published().await;
    for seq in 0..257 {
        ubusd.invoke(seq, "echo", &Map::new()).await;
    }
    ubusd.expect_status(256, Status::UnknownError).await;
    let Incoming::Invoke(request) = soon(connection.next()).await.unwrap() else {
        panic!("no call")
    };
    request.reply.status(Status::Ok);
    ubusd.expect_status(0, Status::Ok).await;
}

// A backlog of 256 calls with a megabyte each would exhaust the memory of a router.
#[tokio::test]
async fn refuses_large_calls_before_the_backlog_is_full() {
    let (mut connection, mut ubusd) = published().await;
    let large = map("text", "x".repeat(1_000_000));
    for seq in 0..5 {
        ubusd.invoke(seq, "say", &large).await;
    }
    ubusd.expect_status(4, Status::UnknownError).await;
    for seq in 0..4 {
        let Incoming::Invoke(request) = soon(connection.next()).await.unwrap() else {
            panic!("no call")
        };
        request.reply.status(Status::Ok);
        ubusd.expect_status(seq, Status::Ok).await;
    }
    ubusd.invoke(9, "say", &large).await;
    drop(soon(connection.next()).await.unwrap());
    ubusd.expect_status(9, Status::UnknownError).await;
}

#[tokio::test]
async fn reports_the_first_and_the_last_subscriber() {
    let (mut connection, mut ubusd) = published().await;
    for active in [true, false] {
        let attributes = vec![Attribute::ObjectId(OBJECT), Attribute::Active(active)];
        ubusd.send(frame(Kind::Notify, 1, 0, attributes)).await;
        match soon(connection.next()).await.unwrap() {
            Incoming::Subscribers { object, active: reported } => {
                assert_eq!((object.as_str(), reported), ("test", active));
            }
            other => panic!("{other:?}"),
        }
    }
    let bus = connection.handle();
    bus.notify("unknown", "tick", &Map::new()).unwrap();
    bus.notify("test", "tick", &map("n", 1)).unwrap();
    let frame = ubusd.next().await;
    assert_eq!(
        (frame.kind, frame.object_id(), frame.method()),
        (Kind::Notify, Some(OBJECT), Some("tick"))
    );
    assert!(frame.no_reply());
}

#[tokio::test]
async fn the_end_of_the_connection_fails_open_calls_and_next() {
    let (mut connection, mut ubusd) = pair().await;
    let bus = connection.handle();
    let call = bus.list("*");
    let (answer, ()) = tokio::join!(call, async move {
        ubusd.next().await;
        drop(ubusd);
    });
    assert!(matches!(answer, Err(CallError::Disconnected { .. })), "{answer:?}");
    let end = soon(connection.next()).await.unwrap_err();
    assert!(matches!(end, ConnectionError::Closed | ConnectionError::Io(_)), "{end}");
    assert!(matches!(soon(connection.next()).await, Err(ConnectionError::Closed)));
    bus.notify("test", "tick", &Map::new()).unwrap();
}

// Sequence numbers have 16 bits.
#[tokio::test]
async fn abandoned_requests_do_not_use_up_the_sequence_numbers() {
    let (connection, mut ubusd) = pair().await;
    let bus = connection.handle();
    for _ in 0..=u16::MAX {
        let request = tokio::select! {
            answer = bus.list("slow") => panic!("{answer:?}"),
            request = ubusd.next() => request,
        };
        assert_eq!(request.kind, Kind::Lookup);
    }
    let (listed, ()) = tokio::join!(bus.list("x"), async {
        let request = ubusd.next().await;
        let end = vec![Attribute::Status(Status::NotFound.code())];
        ubusd.send(frame(Kind::Status, request.seq, 0, end)).await;
    });
    assert_eq!(listed.unwrap_err().status(), Status::NotFound);
}

#[tokio::test]
async fn a_malformed_message_ends_the_connection() {
    let (mut connection, mut ubusd) = pair().await;
    ubusd.stream.write_all(&[0xff; 16]).await.unwrap();
    let end = soon(connection.next()).await.unwrap_err();
    assert!(matches!(end, ConnectionError::Malformed(_)), "{end}");
}

// ubusd forwards arguments unchecked.
#[tokio::test]
async fn answers_damaged_arguments_and_keeps_the_connection() {
    let (mut connection, mut ubusd) = published().await;
    let args = Blobmsg::encode(&map("text", "x".repeat(400))).unwrap();
    let size = args.as_bytes().len();
    let attributes = vec![
        Attribute::ObjectId(OBJECT),
        Attribute::Method("say".to_owned()),
        Attribute::Data(args),
    ];
    let whole = frame(Kind::Invoke, 1, CALLER, attributes).encode().unwrap();
    let start = whole.len() - size;
    // Seed of xorshift64, a deterministic generator.
    let mut seed = 88_172_645_463_325_252_u64;
    let (mut sent, mut taken) = (0, 0);
    while sent < 1_000_000 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let [at, byte, far, ..] = seed.to_ne_bytes();
            // Most damage hits the heads, which contain lengths and types.
            let at = if far < 200 { usize::from(at) % 16 } else { usize::from(at) % size };
            bytes[start + at] = byte;
        }
        ubusd.stream.write_all(&bytes).await.unwrap();
        sent += bytes.len();
        let answer = tokio::select! {
            answer = ubusd.next() => answer,
            incoming = connection.next() => {
                assert!(matches!(incoming.unwrap(), Incoming::Invoke(_)));
                taken += 1;
                ubusd.next().await
            }
        };
        assert_eq!((answer.kind, answer.seq), (Kind::Status, 1));
    }
    assert!(taken < sent / whole.len(), "all {taken} calls were taken");
    ubusd.invoke(2, "echo", &map("n", 1)).await;
    let Incoming::Invoke(request) = soon(connection.next()).await.unwrap() else {
        panic!("no call")
    };
    request.reply.status(Status::Ok);
    ubusd.expect_status(2, Status::Ok).await;
}

#[tokio::test]
async fn a_ubusd_that_does_not_read_ends_the_connection() {
    let (mut connection, _ubusd) = published().await;
    let bus = connection.handle();
    let large = map("text", "x".repeat(1 << 19));
    for _ in 0..40 {
        bus.notify("test", "tick", &large).unwrap();
    }
    let end = soon(connection.next()).await;
    assert!(matches!(end, Err(ConnectionError::Stalled { .. })), "{end:?}");
}

#[tokio::test]
async fn the_socket_closes_when_connection_and_handles_are_dropped() {
    let (connection, mut ubusd) = pair().await;
    let bus = connection.handle();
    drop(connection);
    // The handle keeps the connection open.
    let ((), listed) = tokio::join!(
        async {
            let request = ubusd.next().await;
            let end = vec![Attribute::Status(Status::NotFound.code())];
            ubusd.send(frame(Kind::Status, request.seq, 0, end)).await;
        },
        bus.list("x")
    );
    assert_eq!(listed.unwrap_err().status(), Status::NotFound);
    drop(bus);
    let mut byte = [0];
    assert_eq!(soon(ubusd.stream.read(&mut byte)).await.unwrap(), 0);
}
