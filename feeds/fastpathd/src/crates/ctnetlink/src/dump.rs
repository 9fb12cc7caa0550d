// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the whole conntrack table in batches.

use netlink::{Protocol, RequestError};

use crate::decode::{self, CT_NEW};
use crate::entry::Entry;
use crate::request;

/// Error of a dump, for example without `CAP_NET_ADMIN`.
#[derive(Debug, thiserror::Error)]
#[error("cannot dump the conntrack table")]
pub struct DumpError(#[source] pub RequestError);

/// One dump of the conntrack table.
#[derive(Debug)]
pub struct Dump(netlink::Dump);

impl Dump {
    /// Requests all IPv4 and IPv6 entries. Needs `CAP_NET_ADMIN` and a tokio runtime.
    pub fn start() -> Result<Self, DumpError> {
        let mut dump = netlink::Dump::open(Protocol::Netfilter).map_err(DumpError)?;
        dump.start(request::dump).map_err(DumpError)?;
        Ok(Self(dump))
    }

    /// Appends the entries of the next datagram, about a hundred, to `batch`. Returns false at the
    /// end. Yields to other tasks first.
    ///
    /// # Errors
    /// Fails if reading fails or the kernel refuses; this ends the dump.
    pub async fn next(&mut self, batch: &mut Vec<Entry>) -> Result<bool, DumpError> {
        let more = self.0.next(|message| {
            if message.kind == CT_NEW {
                batch.extend(decode::entry(message.payload));
            }
        });
        more.await.map_err(DumpError)
    }

    /// Reports whether the table changed during the dump, so that entries may be missing.
    #[must_use]
    pub const fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}
