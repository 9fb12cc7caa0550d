// SPDX-License-Identifier: GPL-2.0-or-later
//! The task that owns the socket, and the owner's handle to it. Limits: 256 incoming messages, 8
//! MiB unsent, 10 s for ubusd's greeting. The bytes of waiting calls are limited in `weight.rs`. It
//! does not reconnect: its owner does.

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

/// Incoming messages that wait for [`Connection::next`]; calls beyond it are refused.
const BACKLOG: usize = 256;
/// Bytes that may wait for ubusd to read them: some of the largest messages.
const MAX_UNSENT: usize = 8 * crate::MAX_MESSAGE;
/// ubusd greets at once; under emulation and load "at once" is long.
const HELLO: Duration = Duration::from_secs(10);
/// Between two lines of the log about refused messages.
const QUIET: Duration = Duration::from_secs(10);

/// A connection to ubusd. Dropping it and its handles closes the socket.
pub struct Connection {
    incoming: mpsc::Receiver<Incoming>,
    handle: Handle,
    pace: Arc<Pace>,
    task: Option<JoinHandle<ConnectionError>>,
}

/// Calls, notifications and events for the owner of a connection.
#[derive(Debug)]
pub enum Incoming {
    /// A call of a published object; its arguments fit the method's policy.
    Invoke(Request),
    /// The first subscriber came to a published object, or the last one left.
    Subscribers {
        /// Path of the object.
        object: String,
        /// Whether there is any subscriber.
        active: bool,
    },
    /// A notification of an object subscribed to.
    Notification {
        /// Path of that object.
        object: String,
        /// Name of the notification.
        name: String,
        /// Its content.
        data: Map,
    },
    /// An object subscribed to is gone; subscribe again when it is back (`ubus.object.add`).
    Unsubscribed {
        /// Path of that object.
        object: String,
    },
    /// An event listened for.
    Event {
        /// Name of the event.
        id: String,
        /// Its content.
        data: Map,
    },
}

/// A call of a published object.
#[derive(Debug)]
pub struct Request {
    /// Path of the object.
    pub object: String,
    /// Name of the method; one of the object's.
    pub method: String,
    /// The arguments, each known to the method's policy and of its type.
    pub args: Map,
    /// User that the caller runs as, as ubusd saw it.
    pub user: String,
    /// Group that the caller runs as.
    pub group: String,
    /// The handle to answer with.
    pub reply: Reply,
    /// Counts as waiting until it is handled.
    #[expect(dead_code, reason = "its drop is what counts")]
    weight: Weight,
}

/// The answer to one call, given now or later, from any task. Dropped unused, it answers
/// [`Status::UnknownError`], so no caller waits for its timeout.
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
    /// When `result` cannot be sent, most likely because it is over 1 MiB; the caller then gets
    /// [`Status::SystemError`].
    pub fn data<T: Serialize + ?Sized>(self, result: &T) -> Result<(), EncodeError> {
        self.table(Blobmsg::encode(result))
    }

    /// Answers with a table that is already encoded, or with the status of an error.
    ///
    /// # Errors
    /// As [`Reply::data`].
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
            // A connection that has ended takes no answers, and nobody waits for one.
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
    /// Connects to the ubusd that listens at `path` and waits for its greeting.
    ///
    /// # Errors
    /// When nobody listens there or does not greet as ubusd does.
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

    /// A handle for calls, publishing and notifications; clone it freely.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits for the next one, and after large answers a while longer: ubusd drops answers that
    /// pile up for one caller. Cancelling it loses nothing.
    ///
    /// # Errors
    /// When the connection has ended.
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
    /// A notification of our object at a path.
    Notify(String, String, Blobmsg),
    Frame(Frame),
    /// A frame whose sender has encoded it, to know that it can be.
    Bytes(Vec<u8>),
}

struct Driver {
    protocol: Protocol<oneshot::Sender<Answer>>,
    decoder: Decoder,
    unsent: Vec<u8>,
    sink: mpsc::Sender<Incoming>,
    /// Weak, so that the task ends when every handle is gone.
    commands: mpsc::WeakUnboundedSender<Command>,
    pace: Arc<Pace>,
    waiting: Waiting,
    /// When a refused message was last logged.
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
                // A refused call is answered by the drop of its `Reply`.
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

    /// Callers choose how many there are and what they contain.
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
            // A frame from a caller's data is checked by the caller first.
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

/// Without `NoReply` ubusd would list the subscribers and each would acknowledge.
fn notification(id: u32, name: String, data: Blobmsg) -> Frame {
    let attributes = vec![
        Attribute::ObjectId(id),
        Attribute::Method(name),
        Attribute::Data(data),
        Attribute::NoReply(true),
    ];
    Frame { kind: Kind::Notify, seq: 0, peer: id, attributes }
}
