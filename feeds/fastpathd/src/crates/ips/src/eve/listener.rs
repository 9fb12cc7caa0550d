// SPDX-License-Identifier: GPL-2.0-or-later
//! Unix socket for Suricata's events: one connection at a time, from permitted users only.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

use super::reader::{Batch, Rates, Reader};
use super::wanted::WantedKinds;

#[derive(Debug, Error)]
#[error("cannot {what} the socket for Suricata's events, {}: {source}", .path.display())]
pub struct ListenError {
    what: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// Receives Suricata's events. A new connection replaces the old one.
#[derive(Debug)]
pub struct EventListener {
    path: PathBuf,
    socket: UnixListener,
    users: Vec<u32>,
    /// User ids whose connections are closed without being counted as strangers.
    testers: Vec<u32>,
    stream: Option<UnixStream>,
    reader: Reader,
    bytes: Vec<u8>,
}

impl EventListener {
    /// Listens at `path` and replaces a stale socket. The file's mode lets all users connect,
    /// because Suricata runs as its own user; connections of users other than `users` are closed.
    /// `suricata -T` connects as one of `testers`.
    pub fn bind(
        path: &Path,
        [users, testers]: [Vec<u32>; 2],
        rates: Rates,
    ) -> Result<Self, ListenError> {
        let failed = |what| move |source| ListenError { what, path: path.to_owned(), source };
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("replace")(error));
            }
            _ => {}
        }
        let socket = UnixListener::bind(path).map_err(failed("make"))?;
        let anybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(path, anybody).map_err(failed("open"))?;
        let bytes = vec![0; 128 * 1024];
        let reader = Reader::new(rates);
        Ok(Self { path: path.to_owned(), socket, users, testers, stream: None, reader, bytes })
    }

    pub fn keep(&mut self, wanted: WantedKinds) {
        self.reader.keep(wanted);
    }

    /// Waits for data or a change of the connection. Cancel safe. After an error, an immediate
    /// retry fails, too.
    pub async fn next(&mut self, now: impl Fn() -> Duration) -> Result<Batch, ListenError> {
        let mut batch = Batch::default();
        tokio::select! {
            accepted = self.socket.accept() => {
                let path = &self.path;
                let failed =
                    |source| ListenError { what: "accept at", path: path.clone(), source };
                let (stream, _) = accepted.map_err(failed)?;
                self.adopt(stream);
            }
            read = read(self.stream.as_mut(), &mut self.bytes) => match read {
                Some(length) => {
                    self.reader.read(now(), &self.bytes[..length], &mut batch);
                }
                None => self.stream = None,
            },
        }
        batch.counts = self.reader.counts();
        batch.connected = self.stream.is_some();
        Ok(batch)
    }

    fn adopt(&mut self, stream: UnixStream) {
        let user = stream.peer_cred().map(|peer| peer.uid());
        let is_one_of = |users: &[u32]| user.as_ref().is_ok_and(|user| users.contains(user));
        if is_one_of(&self.users) {
            self.reader.restart();
            self.stream = Some(stream);
        } else if !is_one_of(&self.testers) {
            self.reader.note_stranger();
        }
    }
}

impl Drop for EventListener {
    /// Removes the socket file, so that Suricata does not try to connect to it.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns the number of bytes read, or `None` at the end. Never returns without a connection.
async fn read(stream: Option<&mut UnixStream>, bytes: &mut [u8]) -> Option<usize> {
    match stream {
        Some(stream) => stream.read(bytes).await.ok().filter(|length| *length > 0),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
