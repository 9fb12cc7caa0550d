// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to the bus. Requests are not retried here but by the daemon (`bus/repeat.rs`).

use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::connection::Command;
use crate::protocol::{Answer, Query, Role};
use crate::{
    Attribute, Blobmsg, CallError, DecodeError, EncodeError, Frame, Kind, Map, Object, Status,
};

/// Timeout of requests that ubusd answers without an object.
const UBUSD_TIMEOUT: Duration = Duration::from_secs(10);
/// ubusd's own object for events.
const EVENT_OBJECT: u32 = 1;

/// Calls, publishes and notifies on a [`crate::Connection`].
#[derive(Clone, Debug)]
pub struct Handle {
    commands: mpsc::UnboundedSender<Command>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub path: String,
    /// Id of the object, valid until the object is removed.
    pub id: u32,
    /// Argument types (blobmsg type numbers) by method and argument.
    pub methods: Map,
}

impl Handle {
    pub(crate) fn new(commands: mpsc::UnboundedSender<Command>) -> Self {
        Handle { commands }
    }

    /// Calls `method` of the object at `path`. `args` is a map or a struct. An answer without data
    /// is an empty map. `timeout` covers look-up and call.
    pub fn call<'a, T: Serialize + ?Sized>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &T,
        timeout: Duration,
    ) -> impl Future<Output = Result<Map, CallError>> + use<'a, T> {
        // Encode first: a future per type of arguments would take kilobytes of code.
        self.call_encoded(path, method, Blobmsg::encode(args), timeout)
    }

    async fn call_encoded(
        &self,
        path: &str,
        method: &str,
        args: Result<Blobmsg, EncodeError>,
        timeout: Duration,
    ) -> Result<Map, CallError> {
        let request = Request { name: format!("call {path} {method}"), handle: self };
        let args = args.map_err(|source| request.unsendable(source))?;
        request.within(timeout, request.call(path, method, args)).await
    }

    /// Returns the objects whose path matches `pattern`. A trailing `*` is a wildcard.
    ///
    /// # Errors
    /// [`Status::NotFound`] for an unknown path.
    pub async fn list(&self, pattern: &str) -> Result<Vec<Entry>, CallError> {
        let request = Request { name: format!("list {pattern}"), handle: self };
        request.within(UBUSD_TIMEOUT, request.lookup(pattern)).await
    }

    /// Publishes `object`. [`crate::Connection::next`] returns its calls.
    ///
    /// # Errors
    /// [`Status::InvalidArgument`] for an occupied path.
    pub async fn publish(&self, object: Object) -> Result<(), CallError> {
        self.add_object(object, true).await
    }

    /// Publishes `object` like [`Handle::publish`], but accepts unknown arguments. Stand-ins for
    /// rpcd's objects need this.
    pub async fn publish_unchecked(&self, object: Object) -> Result<(), CallError> {
        self.add_object(object, false).await
    }

    async fn add_object(&self, object: Object, checked: bool) -> Result<(), CallError> {
        let request = Request { name: format!("publish {}", object.path), handle: self };
        let path = Attribute::ObjectPath(object.path.clone());
        let signature = request.encode(&object.signature())?;
        let attributes = vec![path, Attribute::Signature(signature)];
        request
            .within(UBUSD_TIMEOUT, request.add(attributes, Role::Published { object, checked }))
            .await?;
        Ok(())
    }

    /// Notifies the subscribers of our object at `path` without waiting. Has no effect if the
    /// object is not published or the connection has ended.
    ///
    /// # Errors
    /// `data` cannot be encoded.
    pub fn notify<T: Serialize + ?Sized>(
        &self,
        path: &str,
        name: &str,
        data: &T,
    ) -> Result<(), EncodeError> {
        let data = Blobmsg::encode(data)?;
        let _ = self.commands.send(Command::Notify(path.to_owned(), name.to_owned(), data));
        Ok(())
    }

    /// Subscribes to notifications of the object at `path`.
    ///
    /// # Errors
    /// [`Status::NotFound`] for an unknown path.
    pub async fn subscribe(&self, path: &str) -> Result<(), CallError> {
        let request = Request { name: format!("subscribe to {path}"), handle: self };
        request.within(UBUSD_TIMEOUT, request.subscribe(path)).await
    }

    /// Listens for events whose name matches `pattern`. A trailing `*` is a wildcard.
    pub async fn listen(&self, pattern: &str) -> Result<(), CallError> {
        let request = Request { name: format!("listen for {pattern}"), handle: self };
        request.within(UBUSD_TIMEOUT, request.listen(pattern)).await
    }

    pub async fn send_event(&self, id: &str, data: &Map) -> Result<(), CallError> {
        let request = Request { name: format!("send event {id}"), handle: self };
        let mut args = Map::new();
        args.insert("id".to_owned(), id.into());
        args.insert("data".to_owned(), data.clone().into());
        let args = request.encode(&args)?;
        request.within(UBUSD_TIMEOUT, request.invoke(EVENT_OBJECT, "send", args)).await?;
        Ok(())
    }
}

struct Request<'a> {
    name: String,
    handle: &'a Handle,
}

impl Request<'_> {
    async fn within<T>(
        &self,
        waited: Duration,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(waited, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CallError::Timeout { request: self.name.clone(), waited }),
        }
    }

    async fn call(&self, path: &str, method: &str, args: Blobmsg) -> Result<Map, CallError> {
        let id = self.find(path).await?;
        self.invoke(id, method, args).await
    }

    async fn subscribe(&self, path: &str) -> Result<(), CallError> {
        let target = self.find(path).await?;
        let ours = self.add(Vec::new(), Role::Subscriber(path.to_owned())).await?;
        let attributes = vec![Attribute::ObjectId(ours), Attribute::Target(target)];
        self.ask(Query { kind: Kind::Subscribe, peer: 0, attributes, role: None }).await?;
        Ok(())
    }

    async fn listen(&self, pattern: &str) -> Result<(), CallError> {
        let ours = self.add(Vec::new(), Role::Listener).await?;
        let mut args = Map::new();
        // ubusd reads an object id as int32, so reinterpret the unsigned id.
        args.insert("object".to_owned(), ours.cast_signed().into());
        args.insert("pattern".to_owned(), pattern.into());
        self.invoke(EVENT_OBJECT, "register", self.encode(&args)?).await?;
        Ok(())
    }

    async fn find(&self, path: &str) -> Result<u32, CallError> {
        let entries = self.lookup(path).await?;
        let entry = entries.into_iter().find(|entry| entry.path == path);
        entry.map(|entry| entry.id).ok_or_else(|| self.refused(Status::NotFound))
    }

    async fn lookup(&self, pattern: &str) -> Result<Vec<Entry>, CallError> {
        let attributes = vec![Attribute::ObjectPath(pattern.to_owned())];
        let answer = Query { kind: Kind::Lookup, peer: 0, attributes, role: None };
        self.ask(answer).await?.iter().map(|frame| self.entry(frame)).collect()
    }

    fn entry(&self, frame: &Frame) -> Result<Entry, CallError> {
        let missing = |what| self.unreadable(DecodeError::Missing { what });
        let path = frame.object_path().ok_or_else(|| missing("a path"))?.to_owned();
        let id = frame.object_id().ok_or_else(|| missing("an object id"))?;
        let methods = match frame.signature() {
            Some(table) => table.decode().map_err(|error| self.unreadable(error))?,
            None => Map::new(),
        };
        Ok(Entry { path, id, methods })
    }

    async fn add(&self, attributes: Vec<Attribute>, role: Role) -> Result<u32, CallError> {
        let query = Query { kind: Kind::AddObject, peer: 0, attributes, role: Some(role) };
        let answer = self.ask(query).await?;
        let id = answer.iter().find_map(Frame::object_id);
        id.ok_or_else(|| self.unreadable(DecodeError::Missing { what: "an object id" }))
    }

    async fn invoke(&self, id: u32, method: &str, args: Blobmsg) -> Result<Map, CallError> {
        let attributes = vec![
            Attribute::ObjectId(id),
            Attribute::Method(method.to_owned()),
            Attribute::Data(args),
        ];
        let query = Query { kind: Kind::Invoke, peer: id, attributes, role: None };
        let answer = self.ask(query).await?;
        match answer.iter().find_map(Frame::data) {
            Some(table) => table.decode().map_err(|error| self.unreadable(error)),
            None => Ok(Map::new()),
        }
    }

    /// Returns the data frames of an answer with status 0.
    async fn ask(&self, query: Query) -> Result<Vec<Frame>, CallError> {
        let probe =
            Frame { kind: query.kind, seq: 0, peer: query.peer, attributes: query.attributes };
        probe.encode().map_err(|source| self.unsendable(source))?;
        let query = Query { attributes: probe.attributes, ..query };
        let gone = || CallError::Disconnected { request: self.name.clone() };
        let (asker, answer) = oneshot::channel();
        self.handle.commands.send(Command::Request(query, asker)).map_err(|_| gone())?;
        let Answer { status, data } = answer.await.map_err(|_| gone())?;
        if status == Status::Ok { Ok(data) } else { Err(self.refused(status)) }
    }

    fn encode(&self, args: &Map) -> Result<Blobmsg, CallError> {
        Blobmsg::encode(args).map_err(|source| self.unsendable(source))
    }

    fn refused(&self, status: Status) -> CallError {
        CallError::Status { request: self.name.clone(), status }
    }

    fn unsendable(&self, source: EncodeError) -> CallError {
        CallError::Arguments { request: self.name.clone(), source }
    }

    fn unreadable(&self, source: DecodeError) -> CallError {
        CallError::Answer { request: self.name.clone(), source }
    }
}
