// SPDX-License-Identifier: GPL-2.0-or-later
//! The whole conntrack table, batch by batch. How often it is read is decided in
//! `crates/fastpathd/src/conntrack/refresh.rs`.

use netlink::{Protocol, RequestError};

use crate::decode::{self, CT_NEW};
use crate::entry::Entry;
use crate::request;

/// Why a dump failed, for example without `CAP_NET_ADMIN`.
#[derive(Debug, thiserror::Error)]
#[error("cannot dump the conntrack table")]
pub struct DumpError(#[source] pub RequestError);

/// One pass over the conntrack table.
#[derive(Debug)]
pub struct Dump(netlink::Dump);

impl Dump {
    /// Asks the kernel for every entry, IPv4 and IPv6. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// When there is no socket or the request is not sent.
    pub fn start() -> Result<Self, DumpError> {
        let mut dump = netlink::Dump::open(Protocol::Netfilter).map_err(DumpError)?;
        dump.start(request::dump).map_err(DumpError)?;
        Ok(Self(dump))
    }

    /// Appends the next batch (one datagram, about a hundred entries) to `batch`; false at the end.
    ///
    /// Yields to the other tasks before each batch.
    ///
    /// # Errors
    /// When reading fails or the kernel refuses; the dump has ended then.
    pub async fn next(&mut self, batch: &mut Vec<Entry>) -> Result<bool, DumpError> {
        let more = self.0.next(|message| {
            if message.kind == CT_NEW {
                batch.extend(decode::entry(message.payload));
            }
        });
        more.await.map_err(DumpError)
    }

    /// Whether the kernel said that the table changed during the dump and entries may be missing:
    /// one that is missing may still exist.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}
