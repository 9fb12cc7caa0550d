// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs updates for the daemon, one at a time, each in a process without capabilities. A connection
//! carries the request and the output; only the daemon can access the socket's folder.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::store::provide;

/// Fills an empty store with the firmware's rules, then serves requests on the socket. Updates also
/// run if the store cannot be filled.
pub(crate) fn serve(socket: &Path, store: &Path, own: &Path) -> io::Result<()> {
    if let Err(error) = provide(store, own) {
        eprintln!("fastpath-rules: no rules before the first update: {error}");
    }
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, Permissions::from_mode(0o666))?;
    for connection in listener.incoming() {
        if let Err(error) = connection.and_then(answer) {
            eprintln!("fastpath-rules: an update could not be run: {error}");
        }
    }
    Ok(())
}

/// Runs one update; the connection closes at its end.
fn answer(connection: UnixStream) -> io::Result<()> {
    let request = OwnedFd::from(connection.try_clone()?);
    // `/proc/self/exe` is this program even if its file has been replaced; `arg0` selects the
    // command.
    let mut update = Command::new("/proc/self/exe");
    update.arg0("fastpath-rules").arg("update").stdin(request).stdout(OwnedFd::from(connection));
    launch::without_capabilities(&mut update).status().map(|_| ())
}
