// SPDX-License-Identifier: GPL-2.0-or-later
//! The client side of the ubus protocol without I/O: numbers requests, collects their answers, and
//! converts other frames of ubusd to [`Output`]s. `T` identifies the task that made a request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::{Attribute, Frame, Kind, Map, Object, Status};

#[derive(Debug)]
pub struct Query {
    pub kind: Kind,
    /// Id of the called object, 0 for ubusd itself.
    pub peer: u32,
    pub attributes: Vec<Attribute>,
    /// Role of the new object, for [`Kind::AddObject`].
    pub role: Option<Role>,
}

#[derive(Clone, Debug)]
pub enum Role {
    /// Answers calls.
    Published {
        object: Object,
        /// Refuse arguments that do not fit the method's policy.
        checked: bool,
    },
    /// Receives notifications of the object at this path.
    Subscriber(String),
    Listener,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: Status,
    /// Data frames before the status.
    pub data: Vec<Frame>,
}

/// Destination of the answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnAddress {
    pub seq: u16,
    pub peer: u32,
    pub object: u32,
    pub wanted: bool,
}

impl ReturnAddress {
    #[must_use]
    pub fn data(&self, table: crate::Blobmsg) -> Frame {
        let attributes = vec![Attribute::ObjectId(self.object), Attribute::Data(table)];
        Frame { kind: Kind::Data, seq: self.seq, peer: self.peer, attributes }
    }

    #[must_use]
    pub fn status(&self, status: Status) -> Frame {
        let attributes = vec![Attribute::Status(status.code()), Attribute::ObjectId(self.object)];
        Frame { kind: Kind::Status, seq: self.seq, peer: self.peer, attributes }
    }
}

/// A call of one of our objects.
#[derive(Debug)]
pub struct Invocation {
    pub object: String,
    pub method: String,
    pub args: Map,
    pub size: usize,
    /// User of the calling process, as reported by ubusd.
    pub user: String,
    pub group: String,
    pub address: ReturnAddress,
}

/// Action of the driver after a frame.
#[derive(Debug)]
pub enum Output<T> {
    Nothing,
    Send(Frame),
    /// Pass the answer to the task that made the request.
    Completed(T, Answer),
    Invoked(Invocation),
    /// One of our objects got its first subscriber or lost its last one.
    Subscribers {
        object: String,
        active: bool,
    },
    Notified {
        object: String,
        name: String,
        data: Map,
        /// Acknowledgement. `None` if the notifier does not want one.
        reply: Option<Frame>,
    },
    /// A watched object was removed.
    Unsubscribed {
        object: String,
    },
    Event {
        id: String,
        data: Map,
    },
}

struct Pending<T> {
    token: T,
    peer: u32,
    role: Option<Role>,
    data: Vec<Frame>,
}

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
    /// Numbers a request and stores its `token`. `None` if 65,535 requests are open.
    pub fn request(&mut self, query: Query, token: T) -> Option<Frame> {
        let seq = (1..=u16::MAX)
            .map(|step| self.seq.wrapping_add(step))
            .find(|seq| !self.pending.contains_key(seq))?;
        self.seq = seq;
        let Query { kind, peer, attributes, role } = query;
        self.pending.insert(seq, Pending { token, peer, role, data: Vec::new() });
        Some(Frame { kind, seq, peer, attributes })
    }

    /// Drops abandoned requests, so that late answers are ignored.
    pub fn forget(&mut self, gone: impl Fn(&T) -> bool) {
        // Keep registrations: ubusd creates the object even if nobody waits for the answer.
        self.pending.retain(|_, pending| pending.role.is_some() || !gone(&pending.token));
    }

    /// Returns the id of our object at `path`.
    #[must_use]
    pub fn object_id(&self, path: &str) -> Option<u32> {
        let ours =
            |role: &Role| matches!(role, Role::Published { object, .. } if object.path == path);
        self.objects.iter().find(|(_, role)| ours(role)).map(|(id, _)| *id)
    }

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
        // Register the object now, because calls may arrive before the closing status.
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
            // ubusd expects no answer to an event.
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
