// SPDX-License-Identifier: GPL-2.0-or-later
//! The task that owns the socket, and the interface of its owner. A connection that ended does not
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

/// Incoming messages in the backlog of [`Connection::next`]; further ones are refused.
const BACKLOG: usize = 256;
/// Limit of bytes that ubusd has not read yet: a few of the largest messages.
const MAX_UNSENT: usize = 8 * crate::MAX_MESSAGE;
/// ubusd greets at once; the timeout allows for emulation and load.
const HELLO: Duration = Duration::from_secs(10);
/// Interval between log messages about refused messages.
const QUIET: Duration = Duration::from_secs(10);

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
    /// A call of a published object.
    Invoke(Request),
    /// A published object got its first subscriber or lost its last one.
    Subscribers {
        /// Path of the object.
        object: String,
        /// The object has a subscriber.
        active: bool,
    },
    /// A notification of an object that the program subscribed to.
    Notification {
        /// Path of the object.
        object: String,
        name: String,
        data: Map,
    },
    /// An object that the program subscribed to is gone; subscribe again at its `ubus.object.add`.
    Unsubscribed {
        /// Path of the object.
        object: String,
    },
    /// An event that the program listens for.
    Event {
        /// Name of the event.
        id: String,
        data: Map,
    },
}

/// A call of a published object.
#[derive(Debug)]
pub struct Request {
    pub object: String,
    pub method: String,
    /// Arguments, checked against the method's policy unless the object is unchecked.
    pub args: Map,
    /// User of the calling process, as reported by ubusd.
    pub user: String,
    /// Group of the calling process.
    pub group: String,
    pub reply: Reply,
    /// Counts the call as waiting until the request is dropped.
    #[expect(dead_code, reason = "its drop is what counts")]
    weight: Weight,
}

/// Answers one call, now or later, from any task. Dropping it unused answers
/// [`Status::UnknownError`], so that the caller does not wait for its timeout.
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
    /// `result` cannot be encoded, usually because it is over 1 MiB; the caller then gets
    /// [`Status::SystemError`].
    pub fn data<T: Serialize + ?Sized>(self, result: &T) -> Result<(), EncodeError> {
        self.table(Blobmsg::encode(result))
    }

    /// Answers with an encoded table, or reports an encoding error to the caller.
    ///
    /// # Errors
    /// See [`Reply::data`].
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

    /// Answers with a status and no data.
    pub fn status(mut self, status: Status) {
        self.finish(status);
    }

    fn finish(&mut self, status: Status) {
        self.done = true;
        if self.address.wanted {
            // Sending fails only after the connection has ended, when no caller waits any more.
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
        let hello = tokio::time::timeout(HELLO, hello(&mut stream, &mut decoder));
        hello
            .await
            .unwrap_or(Err(ConnectionError::Silent { waited: HELLO }))
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

    /// Waits for the next message, and longer after large answers, since ubusd drops answers that
    /// pile up for one caller. Cancel safe.
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

/// Commands of handles and replies to the task.
pub(crate) enum Command {
    Request(Query, oneshot::Sender<Answer>),
    /// Path of our object, name and content of a notification.
    Notify(String, String, Blobmsg),
    Frame(Frame),
    /// A frame that the sender encoded itself to detect errors.
    Bytes(Vec<u8>),
}

struct Driver {
    protocol: Protocol<oneshot::Sender<Answer>>,
    decoder: Decoder,
    unsent: Vec<u8>,
    sink: mpsc::Sender<Incoming>,
    /// Weak, so that the task ends when all handles are dropped.
    commands: mpsc::WeakUnboundedSender<Command>,
    pace: Arc<Pace>,
    waiting: Waiting,
    /// Time of the last log message about a refused message.
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
                // The caller may have stopped waiting.
                let _ = asker.send(answer);
                return Ok(());
            }
            Output::Invoked(call) => {
                let Some(commands) = self.commands.upgrade() else { return Ok(()) };
                let pace = Arc::clone(&self.pace);
                let reply = Reply { address: call.address, commands, pace, done: false };
                let (object, method, args) = (call.object, call.method, call.args);
                let (user, group) = (call.user, call.group);
                // Dropping the `Reply` answers the refused call.
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

    /// Limits rate and length of the log message, since callers choose both.
    fn log_refusal(&mut self, name: &str) {
        let now = Instant::now();
        if self.refused.is_none_or(|at| now.saturating_duration_since(at) >= QUIET) {
            self.refused = Some(now);
            log::warn!("too many messages of ubus wait already, refusing {name:.40}");
        }
    }

    fn send(&mut self, frame: &Frame) -> Result<(), ConnectionError> {
        match frame.encode() {
            Ok(bytes) => self.enqueue(&bytes),
            // Frames with a caller's data were already checked by the caller.
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

/// Sets `NoReply`; without it ubusd would list the subscribers and each would acknowledge.
fn notification(id: u32, name: String, data: Blobmsg) -> Frame {
    let attributes = vec![
        Attribute::ObjectId(id),
        Attribute::Method(name),
        Attribute::Data(data),
        Attribute::NoReply(true),
    ];
    Frame { kind: Kind::Notify, seq: 0, peer: id, attributes }
}
