// SPDX-License-Identifier: GPL-2.0-or-later
//! State of the bus, and requests about objects. Frames from clients go into [`Broker::receive`];
//! frames for clients come from [`Broker::take_outbox`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ubus::{Attribute, Blobmsg, Frame, Kind, Status};

use super::acl::{Acl, Operation, Peer};
use super::calls::Call;
use super::events::Pattern;

/// Lowest id for clients and objects; ubusd reserves the smaller ones.
pub(super) const FIRST_FREE_ID: u32 = 1024;

/// How a request is answered.
pub(super) enum Verdict {
    /// Send a status frame.
    Status(Status),
    /// Send nothing; another client may answer.
    Silent,
}

pub(super) struct Client {
    pub(super) peer: Peer,
    objects: BTreeSet<u32>,
}

pub(super) struct Object {
    pub(super) owner: u32,
    pub(super) path: Option<String>,
    kind: Option<(u32, Blobmsg)>,
    pub(super) subscribers: Vec<u32>,
    pub(super) targets: BTreeSet<u32>,
    seq: u16,
}

/// The bus. `random` generates ids.
pub struct Broker {
    random: Box<dyn FnMut() -> u32>,
    acl: Acl,
    pub(super) clients: HashMap<u32, Client>,
    pub(super) objects: HashMap<u32, Object>,
    paths: BTreeMap<String, u32>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) calls: Vec<Call>,
    outbox: Vec<(u32, Frame)>,
}

impl Broker {
    #[must_use]
    pub fn new(acl: Acl, random: Box<dyn FnMut() -> u32>) -> Broker {
        Broker {
            random,
            acl,
            clients: HashMap::new(),
            objects: HashMap::new(),
            paths: BTreeMap::new(),
            patterns: Vec::new(),
            calls: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Returns the frames queued since the last call, in order, with their recipients.
    pub fn take_outbox(&mut self) -> Vec<(u32, Frame)> {
        std::mem::take(&mut self.outbox)
    }

    /// Registers a client and sends its greeting.
    pub fn connect(&mut self, peer: Peer) -> u32 {
        let id = self.free_id();
        self.clients.insert(id, Client { peer, objects: BTreeSet::new() });
        self.post(id, Frame { kind: Kind::Hello, seq: 0, peer: id, attributes: Vec::new() });
        id
    }

    /// Removes a client and its objects, and fails open calls to them.
    pub fn disconnect(&mut self, client: u32) {
        let objects = self.clients.get(&client).map(|gone| gone.objects.clone());
        for object in objects.unwrap_or_default() {
            self.remove(object);
        }
        self.clients.remove(&client);
        self.calls.retain(|call| call.caller != client);
    }

    pub fn receive(&mut self, client: u32, mut frame: Frame) {
        let (seq, peer) = (frame.seq, frame.peer);
        let verdict = match frame.kind {
            Kind::Ping => {
                frame.kind = Kind::Data;
                self.post(client, frame);
                Verdict::Status(Status::Ok)
            }
            Kind::Lookup => self.lookup(client, &frame),
            Kind::AddObject => self.add(client, &frame),
            Kind::RemoveObject => self.withdraw(client, &frame),
            Kind::Invoke => self.invoke(client, &frame),
            Kind::Status | Kind::Data => self.respond(client, frame),
            Kind::Subscribe => self.subscribe(client, &frame),
            Kind::Unsubscribe => self.unsubscribe(client, &frame),
            Kind::Notify => self.notify(client, &frame),
            _ => Verdict::Status(Status::InvalidCommand),
        };
        if let Verdict::Status(status) = verdict {
            let attributes = vec![Attribute::Status(status.code())];
            self.post(client, Frame { kind: Kind::Status, seq, peer, attributes });
        }
    }

    pub(super) fn post(&mut self, client: u32, frame: Frame) {
        self.outbox.push((client, frame));
    }

    pub(super) fn allows(&self, client: u32, path: &str, operation: Operation<'_>) -> bool {
        self.clients.get(&client).is_some_and(|c| self.acl.allows(&c.peer, path, operation))
    }

    fn free_id(&mut self) -> u32 {
        loop {
            let id = (self.random)();
            let taken = self.clients.contains_key(&id) || self.objects.contains_key(&id);
            if id >= FIRST_FREE_ID && !taken {
                return id;
            }
        }
    }

    fn lookup(&mut self, client: u32, request: &Frame) -> Verdict {
        let found: Vec<u32> = match request.object_path() {
            None => self.paths.values().copied().collect(),
            Some("") => return Verdict::Status(Status::InvalidArgument),
            Some(pattern) => match pattern.strip_suffix('*') {
                None => self.paths.get(pattern).copied().into_iter().collect(),
                Some(prefix) => self.with_prefix(prefix),
            },
        };
        if found.is_empty() && request.object_path().is_some() {
            return Verdict::Status(Status::NotFound);
        }
        for object in found {
            self.describe(client, request, object);
        }
        Verdict::Status(Status::Ok)
    }

    fn with_prefix(&self, prefix: &str) -> Vec<u32> {
        let from = self.paths.range(prefix.to_owned()..);
        from.take_while(|(path, _)| path.starts_with(prefix)).map(|(_, id)| *id).collect()
    }

    fn describe(&mut self, client: u32, request: &Frame, id: u32) {
        let Some(Object { path: Some(path), kind: Some((kind, signature)), .. }) =
            self.objects.get(&id)
        else {
            return;
        };
        // Hide methods that the client may not call, and the object if no method is left.
        let methods = signature.decode().unwrap_or_default();
        let mut visible = methods.clone();
        visible.retain(|name, _| self.allows(client, path, Operation::Call(name)));
        if !methods.is_empty() && visible.is_empty() {
            return;
        }
        let signature = Blobmsg::encode(&visible).unwrap_or_default();
        let attributes = vec![
            Attribute::ObjectPath(path.clone()),
            Attribute::ObjectId(id),
            Attribute::ObjectType(*kind),
            Attribute::Signature(signature),
        ];
        let (seq, peer) = (request.seq, request.peer);
        self.post(client, Frame { kind: Kind::Data, seq, peer, attributes });
    }

    fn add(&mut self, client: u32, request: &Frame) -> Verdict {
        let path = request.object_path().map(str::to_owned);
        let kind = match self.kind_of(request) {
            Ok(kind) => kind,
            Err(status) => return Verdict::Status(status),
        };
        if let Some(path) = &path {
            let allowed = self.allows(client, path, Operation::Publish);
            if !allowed || self.paths.contains_key(path) {
                return Verdict::Status(Status::InvalidArgument);
            }
        }
        let id = self.free_id();
        let mut attributes = vec![Attribute::ObjectId(id)];
        if let (Some((kind, _)), Some(_)) = (&kind, request.signature()) {
            attributes.push(Attribute::ObjectType(*kind));
        }
        let object = Object {
            owner: client,
            path: path.clone(),
            kind,
            subscribers: Vec::new(),
            targets: BTreeSet::new(),
            seq: 0,
        };
        self.objects.insert(id, object);
        if let Some(owner) = self.clients.get_mut(&client) {
            owner.objects.insert(id);
        }
        if let Some(path) = path {
            self.paths.insert(path.clone(), id);
            self.object_event("ubus.object.add", id, &path);
        }
        let (seq, peer) = (request.seq, request.peer);
        self.post(client, Frame { kind: Kind::Data, seq, peer, attributes });
        Verdict::Status(Status::Ok)
    }

    /// Returns type id and signature of a new object, or `None` for an object without methods.
    fn kind_of(&mut self, request: &Frame) -> Result<Option<(u32, Blobmsg)>, Status> {
        if let Some(id) = request.object_type() {
            let same = |object: &&Object| object.kind.as_ref().is_some_and(|kind| kind.0 == id);
            return Ok(self.objects.values().find(same).and_then(|o| o.kind.clone()));
        }
        let Some(signature) = request.signature() else { return Ok(None) };
        if signature.decode().is_err() {
            return Err(Status::InvalidArgument);
        }
        Ok(Some((self.free_id(), signature.clone())))
    }

    fn withdraw(&mut self, client: u32, request: &Frame) -> Verdict {
        let Some(id) = request.object_id() else {
            return Verdict::Status(Status::InvalidArgument);
        };
        match self.objects.get(&id) {
            None => return Verdict::Status(Status::NotFound),
            Some(object) if object.owner != client => {
                return Verdict::Status(Status::PermissionDenied);
            }
            Some(_) => {}
        }
        let attributes = vec![Attribute::ObjectId(id)];
        let (seq, peer) = (request.seq, request.peer);
        self.post(client, Frame { kind: Kind::Data, seq, peer, attributes });
        self.remove(id);
        Verdict::Status(Status::Ok)
    }

    fn remove(&mut self, id: u32) {
        let Some(gone) = self.objects.remove(&id) else { return };
        for subscriber in gone.subscribers {
            self.report_unsubscribed(subscriber, id);
        }
        for target in gone.targets {
            self.drop_subscriber(target, id);
        }
        self.patterns.retain(|pattern| pattern.object != id);
        if let Some(owner) = self.clients.get_mut(&gone.owner) {
            owner.objects.remove(&id);
        }
        self.fail_calls(id);
        if let Some(path) = gone.path {
            self.paths.remove(&path);
            self.object_event("ubus.object.remove", id, &path);
        }
    }

    /// Returns the sequence number of a frame that ubusd itself sends to an object's owner.
    pub(super) fn next_seq(&mut self, object: u32) -> u16 {
        self.objects.get_mut(&object).map_or(0, |object| {
            object.seq = object.seq.wrapping_add(1);
            object.seq
        })
    }
}
