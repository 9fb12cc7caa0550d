// SPDX-License-Identifier: GPL-2.0-or-later
//! The task that owns the socket, and the interface of its owner. A closed connection does not
//! reconnect; the owner opens a new one.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::pace::Pace;
use crate::protocol::{Answer, Output, Protocol, Query, ReturnAddress};
use crate::weight::{Waiting, Weight};
use crate::{
    Attribute, Blobmsg, ConnectError, ConnectionError, Decoder, EncodeError, Frame, Handle, Kind,
    Map, Status,
};

/// Maximum number of messages in the backlog of [`Connection::next`]. Further messages are refused.
const BACKLOG: usize = 256;
/// Limit of bytes in the send buffer.
const MAX_UNSENT: usize = 8 * crate::MAX_MESSAGE;
/// Timeout of ubusd's greeting, long enough for a loaded or emulated router.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum interval between log messages about refused messages.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A connection to ubusd. The socket closes when the connection and all its handles are dropped.
pub struct Connection {
    incoming: mpsc::Receiver<Incoming>,
    handle: Handle,
    pace: Arc<Pace>,
    task: Option<JoinHandle<ConnectionError>>,
}

/// Calls, notifications and events for the owner of a connection.
#[derive(Debug)]
pub enum Incoming {
    Invoke(Request),
    /// A published object got its first subscriber or lost its last one.
    Subscribers {
        object: String,
        active: bool,
    },
    Notification {
        object: String,
        name: String,
        data: Map,
    },
    /// A watched object was removed. Subscribe again after its event `ubus.object.add`.
    Unsubscribed {
        object: String,
    },
    Event {
        id: String,
        data: Map,
    },
}

#[derive(Debug)]
pub struct Request {
    pub object: String,
    pub method: String,
    /// Arguments that fit the method's policy, unless the object is unchecked.
    pub args: Map,
    /// User of the calling process, as reported by ubusd.
    pub user: String,
    pub group: String,
    pub reply: Reply,
    #[expect(dead_code, reason = "its drop subtracts the call's weight")]
    weight: Weight,
}

/// Answers one call from any task. A dropped reply answers [`Status::UnknownError`], so that the
/// caller does not wait for its timeout.
#[derive(Debug)]
pub struct Reply {
    address: ReturnAddress,
    commands: mpsc::UnboundedSender<Command>,
    pace: Arc<Pace>,
    done: bool,
}

impl Reply {
    /// Answers with `result`, a map or a struct, and status 0.
    ///
    /// # Errors
    /// `result` cannot be encoded, for example because it exceeds 1 MiB. The caller gets
    /// [`Status::SystemError`].
    pub fn data<T: Serialize + ?Sized>(self, result: &T) -> Result<(), EncodeError> {
        self.table(Blobmsg::encode(result))
    }

    /// Answers with an encoded table, or reports an encoding error to the caller.
    pub fn table(mut self, table: Result<Blobmsg, EncodeError>) -> Result<(), EncodeError> {
        let data = table.and_then(|table| self.address.data(table).encode());
        let outcome = match data {
            Ok(bytes) if self.address.wanted => {
                self.pace.answered(bytes.len());
                let _ = self.commands.send(Command::Bytes(bytes));
                Ok(Status::Ok)
            }
            Ok(_) => Ok(Status::Ok),
            Err(error) => Err(error),
        };
        self.finish(*outcome.as_ref().unwrap_or(&Status::SystemError));
        outcome.map(|_| ())
    }

    pub fn status(mut self, status: Status) {
        self.finish(status);
    }

    fn finish(&mut self, status: Status) {
        self.done = true;
        if self.address.wanted {
            // Sending fails only after the connection has ended.
            let _ = self.commands.send(Command::Frame(self.address.status(status)));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.done {
            self.finish(Status::UnknownError);
        }
    }
}

impl Connection {
    /// Connects to the ubusd at `path` and waits for its greeting.
    ///
    /// # Errors
    /// The socket refuses the connection, or its server does not greet like ubusd.
    pub async fn open(path: &Path) -> Result<Connection, ConnectError> {
        let socket = |source| ConnectError::Socket { path: path.to_owned(), source };
        let mut stream = UnixStream::connect(path).await.map_err(socket)?;
        let mut decoder = Decoder::default();
        let hello = tokio::time::timeout(HELLO_TIMEOUT, hello(&mut stream, &mut decoder));
        hello
            .await
            .unwrap_or(Err(ConnectionError::Silent { waited: HELLO_TIMEOUT }))
            .map_err(|source| ConnectError::Hello { path: path.to_owned(), source })?;
        Ok(Connection::start(stream, decoder))
    }

    fn start(stream: UnixStream, decoder: Decoder) -> Connection {
        let (commands, orders) = mpsc::unbounded_channel();
        let (sink, incoming) = mpsc::channel(BACKLOG);
        let pace = Arc::new(Pace::new());
        let driver = Driver {
            protocol: Protocol::default(),
            decoder,
            unsent: Vec::new(),
            sink,
            commands: commands.downgrade(),
            pace: Arc::clone(&pace),
            waiting: Waiting::default(),
            refused: None,
        };
        let task = tokio::spawn(driver.run(stream, orders));
        Connection { incoming, handle: Handle::new(commands), pace, task: Some(task) }
    }

    /// Returns a handle for calls, publishing and notifications, which is cheap to clone.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the next message. Waits after large answers, because ubusd drops answers to a slow
    /// client. Cancel safe.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn next(&mut self) -> Result<Incoming, ConnectionError> {
        let wait = self.pace.wait();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if let Some(incoming) = self.incoming.recv().await {
            return Ok(incoming);
        }
        let Some(task) = self.task.as_mut() else { return Err(ConnectionError::Closed) };
        let error = task.await.unwrap_or(ConnectionError::Closed);
        self.task = None;
        Err(error)
    }
}

async fn hello(stream: &mut UnixStream, decoder: &mut Decoder) -> Result<(), ConnectionError> {
    loop {
        match decoder.next_frame()? {
            Some(frame) if frame.kind == Kind::Hello => return Ok(()),
            Some(_) => {}
            None => {
                let mut bytes = [0; 4096];
                let len = stream.read(&mut bytes).await?;
                if len == 0 {
                    return Err(ConnectionError::Closed);
                }
                decoder.extend(&bytes[..len]);
            }
        }
    }
}

pub(crate) enum Command {
    Request(Query, oneshot::Sender<Answer>),
    /// Path of the published object, name and content of a notification.
    Notify(String, String, Blobmsg),
    Frame(Frame),
    /// A frame that the sender has encoded, so that it gets the encoding error.
    Bytes(Vec<u8>),
}

struct Driver {
    protocol: Protocol<oneshot::Sender<Answer>>,
    decoder: Decoder,
    unsent: Vec<u8>,
    sink: mpsc::Sender<Incoming>,
    /// Weak reference, so that the task ends when all handles are dropped.
    commands: mpsc::WeakUnboundedSender<Command>,
    pace: Arc<Pace>,
    waiting: Waiting,
    /// Time of the last log message about a refusal.
    refused: Option<Instant>,
}

impl Driver {
    async fn run(
        mut self,
        stream: UnixStream,
        mut orders: mpsc::UnboundedReceiver<Command>,
    ) -> ConnectionError {
        match self.drive(stream, &mut orders).await {
            Ok(()) => ConnectionError::Closed,
            Err(error) => error,
        }
    }

    async fn drive(
        &mut self,
        mut stream: UnixStream,
        orders: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Result<(), ConnectionError> {
        let (mut reader, mut writer) = stream.split();
        let mut bytes = vec![0; 64 * 1024];
        loop {
            self.take_frames()?;
            tokio::select! {
                len = reader.read(&mut bytes) => match len? {
                    0 => return Ok(()),
                    len => self.decoder.extend(&bytes[..len]),
                },
                order = orders.recv() => match order {
                    Some(order) => self.take_order(order)?,
                    None => return Ok(writer.write_all(&self.unsent).await?),
                },
                len = writer.write(&self.unsent), if !self.unsent.is_empty() => match len? {
                    0 => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                    len => drop(self.unsent.drain(..len)),
                },
            }
        }
    }

    fn take_frames(&mut self) -> Result<(), ConnectionError> {
        while let Some(frame) = self.decoder.next_frame()? {
            let output = self.protocol.receive(frame);
            self.act(output)?;
        }
        Ok(())
    }

    fn take_order(&mut self, order: Command) -> Result<(), ConnectionError> {
        match order {
            Command::Request(query, asker) => {
                self.protocol.forget(oneshot::Sender::is_closed);
                match self.protocol.request(query, asker) {
                    Some(frame) => self.send(&frame),
                    None => Ok(()),
                }
            }
            Command::Notify(path, name, data) => match self.protocol.object_id(&path) {
                None => Ok(()),
                Some(id) => self.send(&notification(id, name, data)),
            },
            Command::Frame(frame) => self.send(&frame),
            Command::Bytes(bytes) => self.enqueue(&bytes),
        }
    }

    fn act(&mut self, output: Output<oneshot::Sender<Answer>>) -> Result<(), ConnectionError> {
        let incoming = match output {
            Output::Nothing => return Ok(()),
            Output::Send(frame) => return self.send(&frame),
            Output::Completed(asker, answer) => {
                let _ = asker.send(answer);
                return Ok(());
            }
            Output::Invoked(call) => {
                let Some(commands) = self.commands.upgrade() else { return Ok(()) };
                let pace = Arc::clone(&self.pace);
                let reply = Reply { address: call.address, commands, pace, done: false };
                let (object, method, args) = (call.object, call.method, call.args);
                let (user, group) = (call.user, call.group);
                // The drop of `reply` answers a refused call.
                let Some(weight) = self.waiting.add(call.size) else {
                    self.log_refusal(&method);
                    return Ok(());
                };
                Incoming::Invoke(Request { object, method, args, user, group, reply, weight })
            }
            Output::Subscribers { object, active } => Incoming::Subscribers { object, active },
            Output::Notified { object, name, data, reply } => {
                reply.map_or(Ok(()), |frame| self.send(&frame))?;
                Incoming::Notification { object, name, data }
            }
            Output::Unsubscribed { object } => Incoming::Unsubscribed { object },
            Output::Event { id, data } => Incoming::Event { id, data },
        };
        match self.sink.try_send(incoming) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(refused)) => self.log_refusal(match &refused {
                Incoming::Invoke(request) => &request.method,
                Incoming::Notification { name, .. } => name,
                Incoming::Event { id, .. } => id,
                Incoming::Subscribers { object, .. } | Incoming::Unsubscribed { object } => object,
            }),
        }
        Ok(())
    }

    /// Logs a refusal. Limits rate and length, because callers control both.
    fn log_refusal(&mut self, name: &str) {
        let now = Instant::now();
        if self.refused.is_none_or(|at| now.saturating_duration_since(at) >= LOG_INTERVAL) {
            self.refused = Some(now);
            log::warn!("too many messages of ubus wait already, refusing {name:.40}");
        }
    }

    fn send(&mut self, frame: &Frame) -> Result<(), ConnectionError> {
        match frame.encode() {
            Ok(bytes) => self.enqueue(&bytes),
            Err(error) => {
                log::error!("a ubus {:?} frame cannot be sent: {error}", frame.kind);
                Ok(())
            }
        }
    }

    fn enqueue(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.unsent.extend_from_slice(bytes);
        let len = self.unsent.len();
        if len > MAX_UNSENT { Err(ConnectionError::Stalled { len }) } else { Ok(()) }
    }
}

/// Builds a notification. `NoReply` suppresses the acknowledgements of the subscribers.
fn notification(id: u32, name: String, data: Blobmsg) -> Frame {
    let attributes = vec![
        Attribute::ObjectId(id),
        Attribute::Method(name),
        Attribute::Data(data),
        Attribute::NoReply(true),
    ];
    Frame { kind: Kind::Notify, seq: 0, peer: id, attributes }
}
