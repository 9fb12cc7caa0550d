// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads files in folders of another user, who could place links, pipes or devices there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file without blocking. The last path component must not be a link.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads at most `limit` bytes of a regular file; see [`open`].
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn reads_only_regular_files_up_to_the_limit() {
        let folder = std::env::temp_dir().join(format!("launch-foreign-{}", std::process::id()));
        fs::create_dir_all(folder.join("folder")).unwrap();
        fs::write(folder.join("file"), "1234567890").unwrap();
        symlink(folder.join("file"), folder.join("link")).unwrap();
        symlink("/dev/zero", folder.join("zero")).unwrap();
        mknodat(CWD, folder.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read(&folder.join("file"), 100).unwrap(), b"1234567890");
        assert_eq!(read(&folder.join("file"), 4).unwrap(), b"1234");
        for name in ["folder", "link", "zero", "pipe", "none"] {
            assert!(read(&folder.join(name), 100).is_err(), "{name}");
        }
        assert!(read(Path::new("/dev/zero"), 100).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
