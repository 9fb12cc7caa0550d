// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes files that other programs read, as a whole or not at all, and removes them.

use std::path::Path;
use std::{fs, io};

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| format!("writing {}: {error}", path.display()))
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("removing {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}
