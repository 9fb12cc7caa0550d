// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of netlink requests, including the kernel's refusal with its error number and text.

use std::fmt;
use std::io;

/// The kernel refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Positive error number.
    pub errno: i32,
    /// Text of the extended acknowledgement.
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
    /// The table changed during each of several dumps.
    #[error("the table changes faster than the kernel can dump it")]
    Interrupted,
    #[error("the kernel has no netlink family {0}")]
    NoFamily(&'static str),
    #[error("the kernel refuses")]
    Refused(#[source] Refusal),
}

impl RequestError {
    /// Returns the kernel's error number, if the kernel refused the request.
    #[must_use]
    pub const fn refused(&self) -> Option<i32> {
        if let Self::Refused(refusal) = self { Some(refusal.errno) } else { None }
    }
}
