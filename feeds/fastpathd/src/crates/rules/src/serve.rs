// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries out the updates that the daemon asks for: a socket in a folder that only the daemon may
//! enter, one update at a time, each in a process without capabilities. The daemon writes the
//! request into the socket and reads the output from it.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::store::provide;

/// Fills an empty store with the rules of the firmware, then answers requests on this socket for
/// ever. Updates are possible without the former.
///
/// # Errors
/// The socket cannot be made.
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

/// Runs one update to its end. The connection closes with it.
fn answer(connection: UnixStream) -> io::Result<()> {
    let request = OwnedFd::from(connection.try_clone()?);
    // This very program, even if the file has been replaced; its name selects its function.
    let mut update = Command::new("/proc/self/exe");
    update.arg0("fastpath-rules").arg("update").stdin(request).stdout(OwnedFd::from(connection));
    launch::without_capabilities(&mut update).status().map(|_| ())
}
