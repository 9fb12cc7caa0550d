// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames between clients: calls, answers, subscriptions, notifications.

use ubus::{Attribute, Blobmsg, Frame, Kind, Status};

use super::acl::Operation;
use super::core::{Broker, Verdict};
use super::events::EVENT_OBJECT;

pub(super) struct Call {
    pub(super) object: u32,
    pub(super) caller: u32,
    pub(super) seq: u16,
}

fn status(code: Status) -> Verdict {
    Verdict::Status(code)
}

impl Broker {
    pub(super) fn invoke(&mut self, client: u32, request: &Frame) -> Verdict {
        let (Some(method), Some(id)) = (request.method(), request.object_id()) else {
            return status(Status::InvalidArgument);
        };
        if id == EVENT_OBJECT {
            return status(self.event_request(client, method, request.data()));
        }
        let Some(object) = self.objects.get(&id) else { return status(Status::NotFound) };
        let path = object.path.as_deref().unwrap_or_default();
        if !path.is_empty() && !self.allows(client, path, Operation::Call(method)) {
            return status(Status::PermissionDenied);
        }
        self.calls.push(Call { object: id, caller: client, seq: request.seq });
        self.forward(client, id, request.seq, method, request.data(), false);
        Verdict::Silent
    }

    fn forward(
        &mut self,
        from: u32,
        to: u32,
        seq: u16,
        method: &str,
        data: Option<&Blobmsg>,
        no_reply: bool,
    ) {
        let Some(owner) = self.objects.get(&to).map(|object| object.owner) else { return };
        let mut attributes = Vec::with_capacity(6);
        if no_reply {
            attributes.push(Attribute::NoReply(true));
        }
        attributes.push(Attribute::ObjectId(to));
        attributes.push(Attribute::Method(method.to_owned()));
        if let Some(sender) = self.clients.get(&from) {
            attributes.push(Attribute::User(sender.peer.user.clone()));
            attributes.push(Attribute::Group(sender.peer.group.clone()));
        }
        attributes.extend(data.cloned().map(Attribute::Data));
        self.post(owner, Frame { kind: Kind::Invoke, seq, peer: from, attributes });
    }

    pub(super) fn respond(&mut self, client: u32, mut answer: Frame) -> Verdict {
        let Some(id) = answer.object_id() else { return Verdict::Silent };
        let complete = match answer.kind {
            Kind::Status => answer.status().is_some(),
            _ => answer.data().is_some(),
        };
        let owned = self.objects.get(&id).is_some_and(|object| object.owner == client);
        let caller = answer.peer;
        if !complete || !owned || !self.clients.contains_key(&caller) {
            return Verdict::Silent;
        }
        if answer.kind == Kind::Status {
            let open =
                |call: &Call| (call.object, call.caller, call.seq) == (id, caller, answer.seq);
            self.calls.retain(|call| !open(call));
        }
        answer.peer = id;
        self.post(caller, answer);
        Verdict::Silent
    }

    /// Fails the open calls of a removed object, so that callers do not run into their timeout.
    pub(super) fn fail_calls(&mut self, object: u32) {
        let calls = std::mem::take(&mut self.calls);
        let (failed, open) = calls.into_iter().partition(|call| call.object == object);
        self.calls = open;
        for Call { caller, seq, .. } in failed {
            let attributes =
                vec![Attribute::Status(Status::NotFound.code()), Attribute::ObjectId(object)];
            self.post(caller, Frame { kind: Kind::Status, seq, peer: object, attributes });
        }
    }

    pub(super) fn notify(&mut self, client: u32, request: &Frame) -> Verdict {
        let (Some(method), Some(id)) = (request.method(), request.object_id()) else {
            return status(Status::InvalidArgument);
        };
        let subscribers = match self.objects.get(&id) {
            None => return status(Status::NotFound),
            Some(object) if object.owner != client => return status(Status::PermissionDenied),
            Some(object) => object.subscribers.clone(),
        };
        if !request.no_reply() {
            let attributes = vec![
                Attribute::ObjectId(id),
                Attribute::Subscribers(subscribers.clone()),
                Attribute::Status(Status::Ok.code()),
            ];
            let (seq, peer) = (request.seq, request.peer);
            self.post(client, Frame { kind: Kind::Status, seq, peer, attributes });
        }
        for subscriber in subscribers {
            let no_reply = request.no_reply();
            self.forward(client, subscriber, request.seq, method, request.data(), no_reply);
        }
        Verdict::Silent
    }

    pub(super) fn subscribe(&mut self, client: u32, request: &Frame) -> Verdict {
        let (Some(id), Some(target)) = (request.object_id(), request.target()) else {
            return status(Status::InvalidArgument);
        };
        match self.objects.get(&id) {
            None => return status(Status::NotFound),
            Some(object) if object.owner != client => return status(Status::InvalidArgument),
            Some(_) => {}
        }
        let Some(watched) = self.objects.get(&target) else { return status(Status::NotFound) };
        if watched.owner == client {
            return status(Status::InvalidArgument);
        }
        let path = watched.path.clone().unwrap_or_default();
        if !self.allows(client, &path, Operation::Subscribe) {
            return status(Status::NotFound);
        }
        let first = watched.subscribers.is_empty();
        if let Some(watched) = self.objects.get_mut(&target) {
            watched.subscribers.push(id);
        }
        if let Some(object) = self.objects.get_mut(&id) {
            object.targets.insert(target);
        }
        if first {
            self.report_active(target, true);
        }
        status(Status::Ok)
    }

    pub(super) fn unsubscribe(&mut self, client: u32, request: &Frame) -> Verdict {
        let (Some(id), Some(target)) = (request.object_id(), request.target()) else {
            return status(Status::InvalidArgument);
        };
        let Some(object) = self.objects.get_mut(&id) else { return status(Status::NotFound) };
        if object.owner != client {
            return status(Status::InvalidArgument);
        }
        if !object.targets.remove(&target) {
            return status(Status::NotFound);
        }
        self.drop_subscriber(target, id);
        status(Status::Ok)
    }

    pub(super) fn drop_subscriber(&mut self, target: u32, subscriber: u32) {
        let Some(object) = self.objects.get_mut(&target) else { return };
        object.subscribers.retain(|id| *id != subscriber);
        if object.subscribers.is_empty() {
            self.report_active(target, false);
        }
    }

    /// Notifies the owner of an object of its first subscriber, or of the loss of its last one.
    fn report_active(&mut self, id: u32, active: bool) {
        let Some(owner) = self.objects.get(&id).map(|object| object.owner) else { return };
        let seq = self.next_seq(id);
        let attributes = vec![Attribute::ObjectId(id), Attribute::Active(active)];
        self.post(owner, Frame { kind: Kind::Notify, seq, peer: 0, attributes });
    }

    /// Notifies a subscriber that the object it has subscribed to was removed.
    pub(super) fn report_unsubscribed(&mut self, subscriber: u32, target: u32) {
        let Some(object) = self.objects.get_mut(&subscriber) else { return };
        object.targets.remove(&target);
        let owner = object.owner;
        let seq = self.next_seq(subscriber);
        let attributes = vec![Attribute::ObjectId(subscriber), Attribute::Target(target)];
        self.post(owner, Frame { kind: Kind::Unsubscribe, seq, peer: 0, attributes });
    }
}
