// SPDX-License-Identifier: GPL-2.0-or-later

use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::{fs, io};

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    replace(path, &new, fs::write(&new, text))
}

/// Renames `new` to `path`. Removes `new` after a failure, because the disk may be full.
fn replace(path: &Path, new: &Path, written: io::Result<()>) -> Result<(), String> {
    written.and_then(|()| fs::rename(new, path)).map_err(|error| {
        let _ = fs::remove_file(new);
        format!("writing {}: {error}", path.display())
    })
}

/// Like [`write`], but only this user may read the file, and symbolic links are not followed.
pub(crate) fn write_own(path: &Path, text: &str) -> Result<(), String> {
    let new = path.with_extension("new");
    remove(&new)?;
    let created = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    replace(path, &new, created.and_then(|mut file| file.write_all(text.as_bytes())))
}

/// Reads a regular file of this user. `None` if it is missing or longer than `max_len` bytes.
pub(crate) fn read_own(path: &Path, max_len: usize) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let user = fs::metadata("/proc/self").ok()?.uid();
    // Opening a FIFO would block.
    if !found.is_file() || found.uid() != user {
        return None;
    }
    let max_len = u64::try_from(max_len).unwrap_or(u64::MAX);
    let mut text = String::new();
    fs::File::open(path).ok()?.take(max_len.saturating_add(1)).read_to_string(&mut text).ok()?;
    (u64::try_from(text.len()).ok()? <= max_len).then_some(text)
}

pub(crate) fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("removing {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn removes_the_temporary_file_if_it_cannot_be_renamed() {
        let folder = std::env::temp_dir().join(format!("fastpathd-full-{}", std::process::id()));
        let path = folder.join("alerts");
        fs::create_dir_all(path.join("occupied")).unwrap();
        for failed in [write(&path, "text"), write_own(&path, "text")] {
            assert!(failed.unwrap_err().starts_with("writing "));
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "the temporary file is removed");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn reads_its_own_files_but_no_links_or_long_files() {
        let folder = std::env::temp_dir().join(format!("fastpathd-own-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (path, other) = (folder.join("alerts"), folder.join("other"));
        symlink(&other, folder.join("alerts.new")).unwrap();
        write_own(&path, "text").unwrap();
        assert!(!other.exists());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_own(&path, 4).as_deref(), Some("text"));
        assert_eq!(read_own(&path, 3), None, "too long");
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_own(&path, 9), None);
        fs::write(&other, "x").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        assert_eq!(read_own(&path, 9), None, "a link");
        fs::remove_dir_all(&folder).unwrap();
    }
}
