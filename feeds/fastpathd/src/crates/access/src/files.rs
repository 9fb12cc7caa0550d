// SPDX-License-Identifier: GPL-2.0-or-later
//! Command `fastpath-rpcd secrets`: removes other users' access to files of `/etc/config` that
//! contain secrets. `uci` and our writer keep the mode of a file.

use std::fs::{self, DirEntry, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::ExitCode;

use crate::journal;

const FOLDER: &str = "/etc/config";

/// Restricts all files with secrets. The next start of the service retries a failure.
#[must_use]
pub fn close_secrets(_: &[String]) -> ExitCode {
    match close(Path::new(FOLDER)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            journal::warn(&format!("closing files of {FOLDER} with secrets: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Restricts all files with secrets. An error does not stop the loop; returns the last one.
fn close(folder: &Path) -> io::Result<()> {
    let mut closed = Ok(());
    for entry in fs::read_dir(folder)? {
        closed = entry.and_then(|entry| close_file(&entry)).and(closed);
    }
    closed
}

fn close_file(entry: &DirEntry) -> io::Result<()> {
    let metadata = entry.metadata()?;
    // The administrator chose a group other than root, so that group keeps its access.
    let closed = metadata.mode() & if metadata.gid() == 0 { !0o077 } else { !0o007 };
    if metadata.is_file() && metadata.mode() != closed && holds_secret(&entry.path()) {
        fs::set_permissions(entry.path(), Permissions::from_mode(closed & 0o7777))?;
    }
    Ok(())
}

/// Returns whether a file may contain a secret. Includes files that cannot be read or parsed.
fn holds_secret(path: &Path) -> bool {
    let Ok(text) = fs::read(path) else { return true };
    uci::parse(&text).map_or(true, |package| config::secret::holds_secret(&package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricts_only_files_with_secrets() {
        let folder = std::env::temp_dir().join(format!("access-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let secret = "config interface wan\n option password x\n";
        for (name, text, mode, expected) in [
            ("network", secret, 0o644, 0o600),
            ("own", secret, 0o400, 0o400),
            ("firewall", "config zone\n option name lan\n", 0o644, 0o644),
            ("broken", "config 'interface\n", 0o644, 0o600),
        ] {
            let file = folder.join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let group = fs::metadata(&file).unwrap().gid();
            let expected = if group == 0 { expected } else { mode & !0o007 & (expected | 0o070) };
            close(&folder).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, expected, "{name}");
        }
        // A comment in Latin-1 must not hide the secret.
        let latin = folder.join("latin");
        fs::write(&latin, [b"# \xfc\n", secret.as_bytes()].concat()).unwrap();
        assert!(holds_secret(&latin));
        assert!(holds_secret(&folder.join("unreadable")));
        std::os::unix::fs::symlink("/nonexistent", folder.join("link")).unwrap();
        assert!(close(&folder).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }
}
