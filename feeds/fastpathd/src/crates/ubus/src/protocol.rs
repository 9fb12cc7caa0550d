// SPDX-License-Identifier: GPL-2.0-or-later
//! The protocol of a ubus client without any I/O: numbers requests, puts their answers together,
//! and turns frames that ubusd sends on its own into [`Output`]s.
//!
//! `T` is whatever the driver keeps with a request to find who asked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::{Attribute, Frame, Kind, Map, Object, Status};

/// A request to ubusd or, through it, to an object.
#[derive(Debug)]
pub struct Query {
    /// Kind of the frame.
    pub kind: Kind,
    /// Object that is called, 0 for ubusd itself.
    pub peer: u32,
    /// Attributes of the frame.
    pub attributes: Vec<Attribute>,
    /// For [`Kind::AddObject`]: the role of the new object.
    pub role: Option<Role>,
}

/// The role of an object of this connection.
#[derive(Clone, Debug)]
pub enum Role {
    /// It answers calls.
    Published {
        /// The object as it is published.
        object: Object,
        /// Whether arguments must fit the methods. rpcd's own objects ignore others.
        checked: bool,
    },
    /// Notifications of the object at this path arrive at it.
    Subscriber(String),
    /// Events arrive at it.
    Listener,
}

/// Everything that came back for a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub status: Status,
    /// The data frames that came before the end.
    pub data: Vec<Frame>,
}

/// Where the answer to a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnAddress {
    /// Sequence of the call.
    pub seq: u16,
    /// Client that called.
    pub peer: u32,
    /// Object that was called.
    pub object: u32,
    /// Whether the caller waits at all.
    pub wanted: bool,
}

impl ReturnAddress {
    /// The frame that carries a result.
    #[must_use]
    pub fn data(&self, table: crate::Blobmsg) -> Frame {
        let attributes = vec![Attribute::ObjectId(self.object), Attribute::Data(table)];
        Frame { kind: Kind::Data, seq: self.seq, peer: self.peer, attributes }
    }

    /// The frame that ends a call.
    #[must_use]
    pub fn status(&self, status: Status) -> Frame {
        let attributes = vec![Attribute::Status(status.code()), Attribute::ObjectId(self.object)];
        Frame { kind: Kind::Status, seq: self.seq, peer: self.peer, attributes }
    }
}

/// A call of one of our objects, its arguments already checked against the policy.
#[derive(Debug)]
pub struct Invocation {
    /// Path of the object.
    pub object: String,
    /// Name of the method.
    pub method: String,
    /// The arguments.
    pub args: Map,
    /// Their bytes on the wire.
    pub size: usize,
    /// User that the caller runs as, as ubusd saw it.
    pub user: String,
    /// Group that the caller runs as.
    pub group: String,
    /// Where the answer goes.
    pub address: ReturnAddress,
}

/// The driver's task after a frame.
#[derive(Debug)]
pub enum Output<T> {
    /// Nothing.
    Nothing,
    /// Send this frame.
    Send(Frame),
    /// A request is over.
    Completed(T, Answer),
    /// One of our objects is called.
    Invoked(Invocation),
    /// The first subscriber came to one of our objects, or the last one left.
    Subscribers {
        /// Path of the object.
        object: String,
        /// Whether there is any subscriber.
        active: bool,
    },
    /// An object that we subscribed to notifies.
    Notified {
        /// Path of that object.
        object: String,
        /// Name of the notification.
        name: String,
        /// Its content.
        data: Map,
        /// The acknowledgement to send, if the notifier wants one.
        reply: Option<Frame>,
    },
    /// An object that we subscribed to is gone.
    Unsubscribed {
        /// Path of that object.
        object: String,
    },
    /// An event that we listen for.
    Event {
        /// Name of the event.
        id: String,
        /// Its content.
        data: Map,
    },
}

struct Pending<T> {
    token: T,
    peer: u32,
    role: Option<Role>,
    data: Vec<Frame>,
}

/// The state of one connection.
pub struct Protocol<T> {
    seq: u16,
    pending: HashMap<u16, Pending<T>>,
    objects: HashMap<u32, Role>,
}

impl<T> Default for Protocol<T> {
    fn default() -> Self {
        Protocol { seq: 0, pending: HashMap::new(), objects: HashMap::new() }
    }
}

impl<T> Protocol<T> {
    /// Numbers a request and remembers who asked. `None` when 65,535 requests are open.
    pub fn request(&mut self, query: Query, token: T) -> Option<Frame> {
        let seq = (1..=u16::MAX)
            .map(|step| self.seq.wrapping_add(step))
            .find(|seq| !self.pending.contains_key(seq))?;
        self.seq = seq;
        let Query { kind, peer, attributes, role } = query;
        self.pending.insert(seq, Pending { token, peer, role, data: Vec::new() });
        Some(Frame { kind, seq, peer, attributes })
    }

    /// Forgets the requests whose asker has gone away. Their late answers are ignored.
    pub fn forget(&mut self, gone: impl Fn(&T) -> bool) {
        // A registration stays: ubusd has the object whether somebody still waits or not.
        self.pending.retain(|_, pending| pending.role.is_some() || !gone(&pending.token));
    }

    /// Id of our object at `path`.
    #[must_use]
    pub fn object_id(&self, path: &str) -> Option<u32> {
        let ours =
            |role: &Role| matches!(role, Role::Published { object, .. } if object.path == path);
        self.objects.iter().find(|(_, role)| ours(role)).map(|(id, _)| *id)
    }

    /// Takes one frame from ubusd.
    pub fn receive(&mut self, frame: Frame) -> Output<T> {
        match frame.kind {
            Kind::Status => self.complete(&frame),
            Kind::Data => self.collect(frame),
            Kind::Invoke => self.invoke(&frame),
            Kind::Notify => self.subscribers(&frame),
            Kind::Unsubscribe => self.unsubscribed(&frame),
            _ => Output::Nothing,
        }
    }

    fn collect(&mut self, frame: Frame) -> Output<T> {
        let Some(pending) = self.pending.get_mut(&frame.seq) else { return Output::Nothing };
        if pending.peer != frame.peer {
            return Output::Nothing;
        }
        // The object can be called from here on, even before the closing status.
        if let Some(id) = frame.object_id()
            && let Some(role) = pending.role.take()
        {
            self.objects.insert(id, role);
        }
        pending.data.push(frame);
        Output::Nothing
    }

    fn complete(&mut self, frame: &Frame) -> Output<T> {
        match self.pending.entry(frame.seq) {
            Entry::Occupied(open) if open.get().peer == frame.peer => {
                let Pending { token, data, .. } = open.remove();
                let status = frame.status().unwrap_or(Status::InvalidArgument);
                Output::Completed(token, Answer { status, data })
            }
            _ => Output::Nothing,
        }
    }

    fn invoke(&self, frame: &Frame) -> Output<T> {
        let Some(id) = frame.object_id() else { return Output::Nothing };
        let wanted = !frame.no_reply();
        let address = ReturnAddress { seq: frame.seq, peer: frame.peer, object: id, wanted };
        let refuse =
            |status| if wanted { Output::Send(address.status(status)) } else { Output::Nothing };
        let (Some(name), Some(data)) = (frame.method(), frame.data()) else {
            return refuse(Status::InvalidArgument);
        };
        let size = data.as_bytes().len();
        let Ok(data) = data.decode() else { return refuse(Status::InvalidArgument) };
        let name = name.to_owned();
        match self.objects.get(&id) {
            None => refuse(Status::NotFound),
            Some(Role::Published { object, checked }) => {
                match admit(object, &name, &data, *checked) {
                    Err(status) => refuse(status),
                    Ok(()) => Output::Invoked(Invocation {
                        object: object.path.clone(),
                        method: name,
                        args: data,
                        size,
                        user: frame.user().unwrap_or_default().to_owned(),
                        group: frame.group().unwrap_or_default().to_owned(),
                        address,
                    }),
                }
            }
            Some(Role::Subscriber(target)) => Output::Notified {
                object: target.clone(),
                name,
                data,
                reply: wanted.then(|| address.status(Status::Ok)),
            },
            // ubusd sends events from peer 0 and takes no answer to them.
            Some(Role::Listener) => Output::Event { id: name, data },
        }
    }

    fn subscribers(&self, frame: &Frame) -> Output<T> {
        let role = frame.object_id().and_then(|id| self.objects.get(&id));
        match (role, frame.active()) {
            (Some(Role::Published { object, .. }), Some(active)) => {
                Output::Subscribers { object: object.path.clone(), active }
            }
            _ => Output::Nothing,
        }
    }

    fn unsubscribed(&mut self, frame: &Frame) -> Output<T> {
        let Some(id) = frame.object_id() else { return Output::Nothing };
        match self.objects.get(&id) {
            Some(Role::Subscriber(target)) => Output::Unsubscribed { object: target.clone() },
            _ => Output::Nothing,
        }
    }
}

fn admit(object: &Object, name: &str, args: &Map, checked: bool) -> Result<(), Status> {
    let method = object.methods.iter().find(|method| method.name == name);
    let method = method.ok_or(Status::MethodNotFound)?;
    if checked { method.check(args) } else { Ok(()) }
}
