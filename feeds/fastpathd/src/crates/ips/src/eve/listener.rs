// SPDX-License-Identifier: GPL-2.0-or-later
//! The Unix socket that Suricata sends EVE to: its mode, which users stay connected, one connection
//! at a time.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

use super::reader::{Batch, Rates, Reader};
use super::wanted::WantedKinds;

/// The socket could not be made, or nobody can connect any more.
#[derive(Debug, Error)]
#[error("cannot {what} the socket for Suricata's events, {}: {source}", .path.display())]
pub struct ListenError {
    /// The operation.
    what: &'static str,
    /// The socket.
    path: PathBuf,
    /// The kernel's error.
    source: std::io::Error,
}

/// Receives the events of Suricata. One connection at a time; a new one ends the old.
#[derive(Debug)]
pub struct EventListener {
    path: PathBuf,
    socket: UnixListener,
    /// Who may connect, by user id.
    users: Vec<u32>,
    /// Users whose connections are closed without being counted.
    testers: Vec<u32>,
    stream: Option<UnixStream>,
    reader: Reader,
    bytes: Vec<u8>,
}

impl EventListener {
    /// Listens at `path`, where a socket of before is removed. Anybody may connect by the
    /// file's mode, since Suricata has a user of its own; the kernel says who it is, and only
    /// `users` (ids) stay connected. `suricata -T` opens the same output as one of `testers`.
    ///
    /// # Errors
    /// See [`ListenError`].
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

    /// Lines of these types are kept.
    pub fn keep(&mut self, wanted: WantedKinds) {
        self.reader.keep(wanted);
    }

    /// Waits until something comes, or Suricata connects or goes. To be called again and
    /// again; it may be given up at any time.
    ///
    /// # Errors
    /// No connection can be accepted. An immediate retry would fail, too.
    pub async fn next(&mut self, now: impl Fn() -> Duration) -> Result<Batch, ListenError> {
        let mut batch = Batch::default();
        tokio::select! {
            accepted = self.socket.accept() => {
                let path = &self.path;
                let failed =
                    |source| ListenError { what: "accept at", path: path.clone(), source };
                let (stream, _) = accepted.map_err(failed)?;
                self.welcome(stream);
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

    fn welcome(&mut self, stream: UnixStream) {
        let user = stream.peer_cred().map(|peer| peer.uid());
        let is_of = |users: &[u32]| user.as_ref().is_ok_and(|user| users.contains(user));
        if is_of(&self.users) {
            self.reader.restart();
            self.stream = Some(stream);
        } else if !is_of(&self.testers) {
            self.reader.note_stranger();
        }
    }
}

impl Drop for EventListener {
    /// Suricata shall find nothing rather than a socket that nobody listens on.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Bytes read; none at the end. Without a connection it waits for ever.
async fn read(stream: Option<&mut UnixStream>, bytes: &mut [u8]) -> Option<usize> {
    match stream {
        Some(stream) => stream.read(bytes).await.ok().filter(|length| *length > 0),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
