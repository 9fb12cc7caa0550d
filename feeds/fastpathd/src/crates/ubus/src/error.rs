// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of the codec, of a connection to ubusd, and of a call, and the ubus status of a failed
//! call.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Status;

/// Bytes from the wire that are not a well-formed message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than an attribute's head.
    #[error("{left} stray bytes instead of an attribute")]
    Truncated {
        /// Bytes there were.
        left: usize,
    },
    /// A length below the head's own size or beyond the surrounding message.
    #[error("an attribute of {len} bytes where {left} are left")]
    Length {
        /// Length the attribute claims.
        len: usize,
        /// Bytes there were.
        left: usize,
    },
    /// A payload of the wrong size or without its closing NUL.
    #[error("{len} bytes are not {what}")]
    Size {
        /// The expected payload.
        what: &'static str,
        /// Its size in bytes.
        len: usize,
    },
    /// A field name that does not end where it says.
    #[error("a field's name is broken")]
    Name,
    /// A type number that blobmsg does not have.
    #[error("unknown blobmsg type {id}")]
    Type {
        /// The type number.
        id: u8,
    },
    /// Tables nested deeper than [`crate::MAX_DEPTH`].
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A frame's version is not 0.
    #[error("a frame of version {version}")]
    Version {
        /// The version.
        version: u8,
    },
    /// A frame larger than [`crate::MAX_MESSAGE`].
    #[error("a frame of {len} bytes, {} are allowed", crate::MAX_MESSAGE)]
    TooLarge {
        /// Its size in bytes.
        len: usize,
    },
    /// An answer of ubusd that lacks a field it must have.
    #[error("the answer lacks {what}")]
    Missing {
        /// The missing field.
        what: &'static str,
    },
}

/// A value that cannot be put into a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// More than [`crate::MAX_MESSAGE`] bytes.
    #[error("{len} bytes are more than the {} of a message", crate::MAX_MESSAGE)]
    TooLarge {
        /// Size in bytes where the limit was noticed.
        len: usize,
    },
    /// Tables nested deeper than [`crate::MAX_DEPTH`].
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A NUL inside a string, which would silently cut it short for a reader written in C.
    #[error("the string {text:?} holds a NUL")]
    Nul {
        /// The string.
        text: String,
    },
    /// A message is a table; this is another value.
    #[error("a message must be a table")]
    NotTable,
    /// The value cannot be written.
    #[error("{message}")]
    Value {
        /// Why.
        message: String,
    },
}

/// Why there is no connection to ubusd.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket is not there or refuses.
    #[error("connecting to ubusd at {}", path.display())]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Somebody listens, but does not greet as ubusd does.
    #[error("waiting for the greeting of ubusd at {}", path.display())]
    Hello {
        /// Path of the socket.
        path: PathBuf,
        /// The error of the greeting.
        source: ConnectionError,
    },
}

/// Why a connection ended. Connect again and publish again.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// ubusd closed it: it was stopped, or it found one of our messages malformed.
    #[error("ubusd closed the connection")]
    Closed,
    /// The kernel reported an error.
    #[error("reading from or writing to ubusd")]
    Io(#[from] io::Error),
    /// ubusd sent bytes that are not an ubus message.
    #[error("reading a message of ubusd")]
    Malformed(#[from] DecodeError),
    /// ubusd does not read our messages.
    #[error("ubusd does not read {len} bytes")]
    Stalled {
        /// Bytes waiting to be sent.
        len: usize,
    },
    /// Nothing came in time.
    #[error("ubusd did not respond within {} ms", waited.as_millis())]
    Silent {
        /// How long we waited.
        waited: Duration,
    },
}

/// Why a request got no usable answer. `request` names it, such as `call uci get`.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The other side, or ubusd for it, answered with a status other than 0.
    #[error("{request}: {status}")]
    Status {
        /// The request.
        request: String,
        /// The answer.
        status: Status,
    },
    /// Nobody answered in time.
    #[error("{request}: no answer within {} ms", waited.as_millis())]
    Timeout {
        /// The request.
        request: String,
        /// How long we waited.
        waited: Duration,
    },
    /// The connection ended first.
    #[error("{request}: the connection to ubusd is closed")]
    Disconnected {
        /// The request.
        request: String,
    },
    /// The arguments cannot be sent.
    #[error("{request}: encoding the arguments")]
    Arguments {
        /// The request.
        request: String,
        /// The problem with them.
        source: EncodeError,
    },
    /// The answer cannot be read.
    #[error("{request}: decoding the answer")]
    Answer {
        /// The request.
        request: String,
        /// The problem with it.
        source: DecodeError,
    },
}

impl CallError {
    /// The ubus status closest to it, which a C client would have seen.
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
