// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of netlink requests.

use std::fmt;
use std::io;

/// Error reply of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub errno: i32,
    /// Message of the extended acknowledgement.
    pub text: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.errno).fmt(f)?;
        self.text.as_ref().map_or(Ok(()), |text| write!(f, ": {text}"))
    }
}

impl std::error::Error for Refusal {}

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("cannot open a netlink socket")]
    Open(#[source] io::Error),
    #[error("cannot send the request")]
    Send(#[source] io::Error),
    #[error("cannot receive the answer")]
    Receive(#[source] io::Error),
    #[error("the answer is malformed")]
    Malformed,
    #[error("the table changes faster than the kernel can dump it")]
    Interrupted,
    #[error("the kernel has no netlink family {0}")]
    NoFamily(&'static str),
    #[error("the kernel refuses")]
    Refused(#[source] Refusal),
}

impl RequestError {
    /// Returns the error number of [`RequestError::Refused`].
    #[must_use]
    pub const fn refused(&self) -> Option<i32> {
        if let Self::Refused(refusal) = self { Some(refusal.errno) } else { None }
    }
}
