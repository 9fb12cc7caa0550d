// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of the codec, of a connection to ubusd and of a call.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Status;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the head of an attribute.
    #[error("{left} stray bytes instead of an attribute")]
    Truncated { left: usize },
    /// An attribute is shorter than its head or longer than the message.
    #[error("an attribute of {len} bytes where {left} are left")]
    Length { len: usize, left: usize },
    /// A payload has the wrong size or lacks its closing NUL.
    #[error("{len} bytes are not {what}")]
    Size { what: &'static str, len: usize },
    /// A field's name does not have the length in its head.
    #[error("a field's name is broken")]
    Name,
    #[error("unknown blobmsg type {id}")]
    Type { id: u8 },
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    #[error("a frame of version {version}")]
    Version { version: u8 },
    #[error("a frame of {len} bytes, {} are allowed", crate::MAX_MESSAGE)]
    TooLarge { len: usize },
    #[error("the answer lacks {what}")]
    Missing { what: &'static str },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("{len} bytes are more than the {} of a message", crate::MAX_MESSAGE)]
    TooLarge {
        /// Size in bytes when the limit was exceeded.
        len: usize,
    },
    #[error("nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// A string contains a NUL, where C programs would truncate it.
    #[error("the string {text:?} holds a NUL")]
    Nul { text: String },
    #[error("a message must be a table")]
    NotTable,
    #[error("{message}")]
    Value { message: String },
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("connecting to ubusd at {}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("waiting for the greeting of ubusd at {}", path.display())]
    Hello { path: PathBuf, source: ConnectionError },
}

/// The connection ended. The program must connect and publish again.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// ubusd stopped, or it rejected one of our messages as malformed.
    #[error("ubusd closed the connection")]
    Closed,
    #[error("reading from or writing to ubusd")]
    Io(#[from] io::Error),
    #[error("reading a message of ubusd")]
    Malformed(#[from] DecodeError),
    #[error("ubusd does not read {len} bytes")]
    Stalled { len: usize },
    #[error("ubusd did not respond within {} ms", waited.as_millis())]
    Silent { waited: Duration },
}

/// A request got no usable answer. `request` describes the request, such as `call uci get`.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The object, or ubusd on its behalf, answered with a status other than 0.
    #[error("{request}: {status}")]
    Status { request: String, status: Status },
    #[error("{request}: no answer within {} ms", waited.as_millis())]
    Timeout { request: String, waited: Duration },
    #[error("{request}: the connection to ubusd is closed")]
    Disconnected { request: String },
    #[error("{request}: encoding the arguments")]
    Arguments { request: String, source: EncodeError },
    #[error("{request}: decoding the answer")]
    Answer { request: String, source: DecodeError },
}

impl CallError {
    /// Returns the status that a client of libubus would get.
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
