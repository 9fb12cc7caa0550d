// SPDX-License-Identifier: GPL-2.0-or-later
//! The status codes of ubus (`UBUS_STATUS_*`) and their texts.

use std::fmt;

macro_rules! statuses {
    ($($name:ident $text:literal,)*) => {
        /// Outcome of a request (`enum ubus_msg_status`), numbered from 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Status { $($name),* }

        const ALL: &[(Status, &str)] = &[$((Status::$name, $text)),*];
    };
}

statuses! {
    Ok "Success",
    InvalidCommand "Invalid command",
    InvalidArgument "Invalid argument",
    MethodNotFound "Method not found",
    NotFound "Not found",
    NoData "No response",
    PermissionDenied "Permission denied",
    Timeout "Request timed out",
    NotSupported "Operation not supported",
    UnknownError "Unknown error",
    ConnectionFailed "Connection failed",
    NoMemory "Out of memory",
    ParseError "Parsing message data failed",
    SystemError "System error",
}

impl Status {
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }

    /// Returns the status with this number. Unknown numbers become [`Status::UnknownError`].
    #[must_use]
    pub fn from_code(code: u32) -> Self {
        let found = ALL.iter().find(|(status, _)| status.code() == code);
        found.map_or(Status::UnknownError, |(status, _)| *status)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ALL[*self as usize].1)
    }
}
