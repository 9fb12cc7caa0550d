// SPDX-License-Identifier: GPL-2.0-or-later
//! Durable file operations. Files and folders are flushed in an order that leaves either the old or
//! the new file after a power cut.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::host::Router;

/// File operations of the kernel. A power cut may lose unflushed operations: bytes of a file, or
/// names in a folder.
pub(crate) trait Kernel {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    fn mode(&self, path: &Path) -> io::Result<u32>;

    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Creates a file. Fails if the name exists.
    fn create(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()>;

    /// Renames a file. Replaces an existing file atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn unlink(&self, path: &Path) -> io::Result<()>;

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Flushes the bytes of a file, or the names in a folder.
    fn flush(&self, path: &Path) -> io::Result<()>;
}

/// Durable file operations: a power cut after the return does not undo them.
pub(crate) trait Disk: Kernel {
    /// Replaces a file atomically. Without `mode`, the new file has the mode of the old one.
    fn replace(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        // uci ignores files whose names begin with a dot.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder(path).join(format!(".{name}.new"));
        let mode = mode.unwrap_or_else(|| self.mode(path).unwrap_or(0o600));
        let _ = self.unlink(&new);
        self.create(&new, bytes, mode)?;
        self.flush(&new)?;
        self.rename(&new, path)?;
        self.flush(folder(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.unlink(path)?;
        self.flush(folder(path))
    }

    /// Renames a file within its folder.
    fn set_aside(&self, path: &Path, aside: &Path) -> io::Result<()> {
        self.rename(path, aside)?;
        self.flush(folder(path))
    }

    /// Creates a folder with access for root only, and its missing parents.
    fn make_private_folder(&self, path: &Path) -> io::Result<()> {
        if self.mode(path).is_ok() {
            return Ok(());
        }
        let above = folder(path);
        self.make_private_folder(above)?;
        match self.make_folder(path, 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => self.flush(above),
        }
    }
}

impl<T: Kernel + ?Sized> Disk for T {}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

impl Kernel for Router {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        Ok(fs::metadata(path)?.mode() & 0o777)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.flatten();
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn create(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(path)?;
        file.write_all(bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::DirBuilder::new().mode(mode).create(path)
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}
