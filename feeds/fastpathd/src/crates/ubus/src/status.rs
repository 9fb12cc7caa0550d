// SPDX-License-Identifier: GPL-2.0-or-later
use std::fmt;

/// The outcome of a request, `enum ubus_msg_status` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it, and Display has the words of ubus_strerror")]
pub enum Status {
    Ok = 0,
    InvalidCommand = 1,
    InvalidArgument = 2,
    MethodNotFound = 3,
    NotFound = 4,
    NoData = 5,
    PermissionDenied = 6,
    Timeout = 7,
    NotSupported = 8,
    UnknownError = 9,
    ConnectionFailed = 10,
    NoMemory = 11,
    ParseError = 12,
    SystemError = 13,
}

const ALL: [(Status, &str); 14] = [
    (Status::Ok, "Success"),
    (Status::InvalidCommand, "Invalid command"),
    (Status::InvalidArgument, "Invalid argument"),
    (Status::MethodNotFound, "Method not found"),
    (Status::NotFound, "Not found"),
    (Status::NoData, "No response"),
    (Status::PermissionDenied, "Permission denied"),
    (Status::Timeout, "Request timed out"),
    (Status::NotSupported, "Operation not supported"),
    (Status::UnknownError, "Unknown error"),
    (Status::ConnectionFailed, "Connection failed"),
    (Status::NoMemory, "Out of memory"),
    (Status::ParseError, "Parsing message data failed"),
    (Status::SystemError, "System error"),
];

impl Status {
    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The status of that number; one this crate does not know is an unknown error.
    #[must_use]
    pub fn from_code(code: u32) -> Self {
        ALL.iter()
            .map(|(status, _)| *status)
            .find(|status| status.code() == code)
            .unwrap_or(Status::UnknownError)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ALL[*self as usize].1)
    }
}
