// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of the codec, of a connection to ubusd and of a call, and the ubus status of a failed
//! call.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Status;

/// The received bytes are not a well-formed message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the head of an attribute.
    #[error("{left} stray bytes instead of an attribute")]
    Truncated {
        /// Bytes that are left.
        left: usize,
    },
    /// A length below the size of the head or beyond the surrounding message.
    #[error("an attribute of {len} bytes where {left} are left")]
    Length {
        /// Length in the head of the attribute.
        len: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A payload of the wrong size or without its closing NUL.
    #[error("{len} bytes are not {what}")]
    Size {
        /// Description of the expected payload.
        what: &'static str,
        /// Actual size in bytes.
        len: usize,
    },
    /// A field name that does not match its length.
    #[error("a field's name is broken")]
    Name,
    /// A type number that blobmsg does not define.
    #[error("unknown blobmsg type {id}")]
    Type {
        /// Number of the type.
        id: u8,
    },
    /// Tables nested deeper than [`crate::MAX_DEPTH`].
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A frame with a version other than 0.
    #[error("a frame of version {version}")]
    Version {
        /// Version in the head of the frame.
        version: u8,
    },
    /// A frame larger than [`crate::MAX_MESSAGE`].
    #[error("a frame of {len} bytes, {} are allowed", crate::MAX_MESSAGE)]
    TooLarge {
        /// Size in bytes.
        len: usize,
    },
    /// An answer of ubusd without a required field.
    #[error("the answer lacks {what}")]
    Missing {
        /// Description of the missing field.
        what: &'static str,
    },
}

/// A value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// More than [`crate::MAX_MESSAGE`] bytes.
    #[error("{len} bytes are more than the {} of a message", crate::MAX_MESSAGE)]
    TooLarge {
        /// Size in bytes when the limit was exceeded.
        len: usize,
    },
    /// Tables nested deeper than [`crate::MAX_DEPTH`].
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A NUL inside a string, which would truncate it for a reader written in C.
    #[error("the string {text:?} holds a NUL")]
    Nul {
        /// The whole string.
        text: String,
    },
    /// A message must be a table.
    #[error("a message must be a table")]
    NotTable,
    /// The serialization of the value failed.
    #[error("{message}")]
    Value {
        /// The reason.
        message: String,
    },
}

/// Opening a connection to ubusd failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket is missing or refuses the connection.
    #[error("connecting to ubusd at {}", path.display())]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        source: io::Error,
    },
    /// The server of the socket does not greet like ubusd.
    #[error("waiting for the greeting of ubusd at {}", path.display())]
    Hello {
        /// Path of the socket.
        path: PathBuf,
        source: ConnectionError,
    },
}

/// The connection ended. The program must connect and publish again.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// ubusd closed the connection: it stopped, or it rejected one of our messages as malformed.
    #[error("ubusd closed the connection")]
    Closed,
    #[error("reading from or writing to ubusd")]
    Io(#[from] io::Error),
    /// ubusd sent bytes that are not a ubus message.
    #[error("reading a message of ubusd")]
    Malformed(#[from] DecodeError),
    /// ubusd does not read our messages.
    #[error("ubusd does not read {len} bytes")]
    Stalled {
        /// Unsent bytes.
        len: usize,
    },
    /// No greeting arrived in time.
    #[error("ubusd did not respond within {} ms", waited.as_millis())]
    Silent {
        /// Time since the connection was opened.
        waited: Duration,
    },
}

/// A request got no usable answer. `request` describes it, such as `call uci get`.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The object, or ubusd on its behalf, answered with a status other than 0.
    #[error("{request}: {status}")]
    Status {
        request: String,
        /// Status of the answer.
        status: Status,
    },
    /// No answer arrived in time.
    #[error("{request}: no answer within {} ms", waited.as_millis())]
    Timeout {
        request: String,
        /// The caller's timeout.
        waited: Duration,
    },
    /// The connection ended before the answer.
    #[error("{request}: the connection to ubusd is closed")]
    Disconnected {
        /// Description of the request.
        request: String,
    },
    /// The arguments cannot be encoded.
    #[error("{request}: encoding the arguments")]
    Arguments {
        /// Description of the request.
        request: String,
        source: EncodeError,
    },
    /// The answer cannot be decoded.
    #[error("{request}: decoding the answer")]
    Answer {
        /// Description of the request.
        request: String,
        source: DecodeError,
    },
}

impl CallError {
    /// Returns the closest ubus status, which a C client would have got.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            CallError::Status { status, .. } => *status,
            CallError::Timeout { .. } => Status::Timeout,
            CallError::Disconnected { .. } => Status::ConnectionFailed,
            CallError::Arguments { .. } => Status::InvalidArgument,
            CallError::Answer { .. } => Status::ParseError,
        }
    }
}
