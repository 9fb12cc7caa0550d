// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a netlink request failed, and the kernel's refusal with its error number and text.

use std::fmt;
use std::io;

/// The kernel refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The error number, positive.
    pub errno: i32,
    /// The text of the extended acknowledgement.
    pub text: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.errno).fmt(f)?;
        self.text.as_ref().map_or(Ok(()), |text| write!(f, ": {text}"))
    }
}

impl std::error::Error for Refusal {}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The socket cannot be opened.
    #[error("cannot open a netlink socket")]
    Open(#[source] io::Error),
    /// The request was not sent.
    #[error("cannot send the request")]
    Send(#[source] io::Error),
    /// The answer cannot be received.
    #[error("cannot receive the answer")]
    Receive(#[source] io::Error),
    /// The answer is not a netlink message.
    #[error("the answer is malformed")]
    Malformed,
    /// The table changed during each of several dumps.
    #[error("the table changes faster than the kernel can dump it")]
    Interrupted,
    /// The kernel has no generic netlink family of this name.
    #[error("the kernel has no netlink family {0}")]
    NoFamily(&'static str),
    /// The kernel refused the request.
    #[error("the kernel refuses")]
    Refused(#[source] Refusal),
}

impl RequestError {
    /// The error number with which the kernel refused the request.
    #[must_use]
    pub const fn refused(&self) -> Option<i32> {
        if let Self::Refused(refusal) = self { Some(refusal.errno) } else { None }
    }
}
