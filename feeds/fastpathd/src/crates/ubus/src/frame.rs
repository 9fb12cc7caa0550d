// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames: an eight-byte head (version, kind, sequence, peer) and one blob with the attributes.

use crate::blob::{Blob, Blobs, Writer};
use crate::{Blobmsg, DecodeError, EncodeError, Status};

/// Maximum bytes of a frame without its head (`UBUS_MAX_MSGLEN`). ubusd closes a connection that
/// exceeds it.
pub const MAX_MESSAGE: usize = 1 << 20;

const HEAD: usize = 8;
const BLOB_HEAD: usize = 4;

/// Kind of a frame (`enum ubus_msg_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Hello,
    Status,
    Data,
    Ping,
    Lookup,
    Invoke,
    AddObject,
    RemoveObject,
    Subscribe,
    Unsubscribe,
    Notify,
    Monitor,
    Other(u8),
}

const KINDS: [Kind; 12] = [
    Kind::Hello,
    Kind::Status,
    Kind::Data,
    Kind::Ping,
    Kind::Lookup,
    Kind::Invoke,
    Kind::AddObject,
    Kind::RemoveObject,
    Kind::Subscribe,
    Kind::Unsubscribe,
    Kind::Notify,
    Kind::Monitor,
];

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::Other(code) => code,
            kind => (0_u8..).zip(KINDS).find(|(_, known)| *known == kind).map_or(0, |(n, _)| n),
        }
    }

    fn from_code(code: u8) -> Self {
        KINDS.get(usize::from(code)).copied().unwrap_or(Kind::Other(code))
    }
}

/// One attribute of a frame (`enum ubus_msg_attr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Status(u32),
    ObjectPath(String),
    ObjectId(u32),
    Method(String),
    ObjectType(u32),
    Signature(Blobmsg),
    Data(Blobmsg),
    Target(u32),
    Active(bool),
    NoReply(bool),
    Subscribers(Vec<u32>),
    User(String),
    Group(String),
    /// Id and payload of an unknown attribute.
    Other(u8, Vec<u8>),
}

impl Attribute {
    fn decode(blob: Blob<'_>) -> Result<Self, DecodeError> {
        Ok(match blob.id {
            1 => Attribute::Status(blob.u32()?),
            2 => Attribute::ObjectPath(blob.text()?),
            3 => Attribute::ObjectId(blob.u32()?),
            4 => Attribute::Method(blob.text()?),
            5 => Attribute::ObjectType(blob.u32()?),
            6 => Attribute::Signature(Blobmsg::from_wire(blob.payload)),
            7 => Attribute::Data(Blobmsg::from_wire(blob.payload)),
            8 => Attribute::Target(blob.u32()?),
            9 => Attribute::Active(blob.bool()?),
            10 => Attribute::NoReply(blob.bool()?),
            11 => Attribute::Subscribers(
                Blobs::new(blob.payload).map(|blob| blob?.u32()).collect::<Result<_, _>>()?,
            ),
            12 => Attribute::User(blob.text()?),
            13 => Attribute::Group(blob.text()?),
            id => Attribute::Other(id, blob.payload.to_vec()),
        })
    }

    fn encode(&self, out: &mut Writer) -> Result<(), EncodeError> {
        match self {
            Attribute::Status(code) => out.attribute(1, &code.to_be_bytes()),
            Attribute::ObjectPath(path) => text(out, 2, path),
            Attribute::ObjectId(id) => out.attribute(3, &id.to_be_bytes()),
            Attribute::Method(name) => text(out, 4, name),
            Attribute::ObjectType(id) => out.attribute(5, &id.to_be_bytes()),
            Attribute::Signature(table) => out.attribute(6, table.as_bytes()),
            Attribute::Data(table) => out.attribute(7, table.as_bytes()),
            Attribute::Target(id) => out.attribute(8, &id.to_be_bytes()),
            Attribute::Active(truth) => out.attribute(9, &[u8::from(*truth)]),
            Attribute::NoReply(truth) => out.attribute(10, &[u8::from(*truth)]),
            Attribute::Subscribers(ids) => {
                let open = out.open(11, false);
                ids.iter().try_for_each(|id| out.attribute(0, &id.to_be_bytes()))?;
                out.close(&open)
            }
            Attribute::User(name) => text(out, 12, name),
            Attribute::Group(name) => text(out, 13, name),
            Attribute::Other(id, payload) => out.attribute(*id, payload),
        }
    }
}

fn text(out: &mut Writer, id: u8, value: &str) -> Result<(), EncodeError> {
    let open = out.open(id, false);
    out.put_text(value)?;
    out.close(&open)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// Sequence number, chosen by the caller and repeated in each answer.
    pub seq: u16,
    /// Id of a client or an object, depending on kind and direction.
    pub peer: u32,
    pub attributes: Vec<Attribute>,
}

/// Defines getters for the first attribute of a variant.
macro_rules! first {
    ($(#[$doc:meta] $name:ident: $variant:ident -> $type:ty = $map:expr;)*) => {$(
        #[$doc]
        #[must_use]
        pub fn $name(&self) -> Option<$type> {
            self.attributes.iter().find_map(|attribute| match attribute {
                Attribute::$variant(value) => Some($map(value)),
                _ => None,
            })
        }
    )*};
}

impl Frame {
    first! {
        /// Outcome of a request.
        status: Status -> Status = |code: &u32| Status::from_code(*code);
        /// Path of an object, or a pattern of paths.
        object_path: ObjectPath -> &str = String::as_str;
        /// Id of the object of a request.
        object_id: ObjectId -> u32 = |id: &u32| *id;
        /// Name of a method, a notification or an event.
        method: Method -> &str = String::as_str;
        /// Id of the object's type.
        object_type: ObjectType -> u32 = |id: &u32| *id;
        /// Method table of an object.
        signature: Signature -> &Blobmsg = std::convert::identity;
        /// Arguments or result.
        data: Data -> &Blobmsg = std::convert::identity;
        /// Id of the object to subscribe to, or of a removed object.
        target: Target -> u32 = |id: &u32| *id;
        /// `true` if the object has subscribers.
        active: Active -> bool = |truth: &bool| *truth;
        /// User of the calling process.
        user: User -> &str = String::as_str;
        /// Group of the calling process.
        group: Group -> &str = String::as_str;
    }

    /// Returns whether the sender expects no answer.
    #[must_use]
    pub fn no_reply(&self) -> bool {
        self.attributes.contains(&Attribute::NoReply(true))
    }

    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut out = Writer::default();
        let open = out.open(0, false);
        self.attributes.iter().try_for_each(|attribute| attribute.encode(&mut out))?;
        out.close(&open)?;
        let body = out.into_bytes();
        let mut bytes = Vec::with_capacity(HEAD + body.len());
        bytes.extend_from_slice(&[0, self.kind.code()]);
        bytes.extend_from_slice(&self.seq.to_be_bytes());
        bytes.extend_from_slice(&self.peer.to_be_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    fn decode(head: [u8; HEAD], body: &[u8]) -> Result<Self, DecodeError> {
        let [version, kind, seq @ .., p0, p1, p2, p3] = head;
        if version != 0 {
            return Err(DecodeError::Version { version });
        }
        let attributes: Result<Vec<Attribute>, DecodeError> =
            Blobs::new(body).map(|blob| Attribute::decode(blob?)).collect();
        Ok(Frame {
            kind: Kind::from_code(kind),
            seq: u16::from_be_bytes(seq),
            peer: u32::from_be_bytes([p0, p1, p2, p3]),
            attributes: attributes?,
        })
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that belong to returned frames.
    used: usize,
}

impl Decoder {
    /// Appends bytes from the socket. They may end within a frame.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.used));
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete frame. `None` if more bytes are needed.
    ///
    /// # Errors
    /// The bytes are not a frame. The connection must be closed, because frames of the rest of the
    /// stream cannot be found.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, DecodeError> {
        let rest = &self.buffer[self.used..];
        let Some((head, body)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let Some((blob_head, _)) = body.split_first_chunk::<BLOB_HEAD>() else { return Ok(None) };
        let len = (u32::from_be_bytes(*blob_head) & 0x00ff_ffff) as usize;
        if len < BLOB_HEAD {
            return Err(DecodeError::Length { len, left: body.len() });
        }
        if len > MAX_MESSAGE {
            return Err(DecodeError::TooLarge { len });
        }
        let padded = len.next_multiple_of(BLOB_HEAD);
        if body.len() < padded {
            return Ok(None);
        }
        let frame = Frame::decode(*head, &body[BLOB_HEAD..len])?;
        self.used += HEAD + padded;
        Ok(Some(frame))
    }
}
