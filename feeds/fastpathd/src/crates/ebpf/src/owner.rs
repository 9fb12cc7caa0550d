// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes the owner of the folder and its contents. The current owner may modify the folder
//! concurrently, so folders are traversed by descriptor, and links are not followed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Gid, Mode, OFlags, Uid, chownat, openat};
use rustix::io::Errno;

/// Maximum nesting below the folder; loaded programs have two levels.
const MAX_DEPTH: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    /// Parses `UID:GID`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (uid, gid) = text.split_once(':')?;
        let number = |text: &str| text.parse().ok().filter(|id| *id != u32::MAX);
        Some(Self { uid: number(uid)?, gid: number(gid)? })
    }

    pub(crate) fn take(self, folder: &Path) -> io::Result<()> {
        let opened = open(CWD, folder)?;
        self.own(CWD, folder)?;
        Ok(self.take_below(&opened, MAX_DEPTH)?)
    }

    fn take_below(self, folder: &OwnedFd, depth: usize) -> rustix::io::Result<()> {
        let mut entries = Dir::read_from(folder)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.own(folder, name)?;
            match open(folder, name) {
                Ok(below) if depth > 0 => self.take_below(&below, depth - 1)?,
                // A file, a link, a removed folder, or nested too deep.
                Ok(_) | Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn own(
        self,
        folder: impl rustix::fd::AsFd,
        name: impl rustix::path::Arg,
    ) -> rustix::io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        match chownat(folder, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW) {
            Err(error) if error != Errno::NOENT => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Opens a folder without following links.
fn open(at: impl rustix::fd::AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn parses_an_owner_of_two_numbers() {
        assert_eq!(Owner::read("453:454"), Some(Owner { uid: 453, gid: 454 }));
        for text in ["", "453", "453:", "fastpath:fastpath", "-1:-1", "4294967295:1", "1:2:3"] {
            assert_eq!(Owner::read(text), None, "{text}");
        }
    }

    #[test]
    fn does_not_change_owners_behind_a_link() {
        let folder = std::env::temp_dir().join(format!("ebpf-owner-{}", std::process::id()));
        let (ours, other) = (folder.join("ours"), folder.join("other"));
        fs::create_dir_all(ours.join("none/loaded")).unwrap();
        fs::create_dir_all(&other).unwrap();
        for file in [ours.join("map"), ours.join("none/program"), other.join("shadow")] {
            fs::write(file, "").unwrap();
        }
        symlink(&other, ours.join("links")).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        let own = owner(&ours);
        let taken = Owner { uid: 453, gid: 453 }.take(&ours);
        if own == 0 {
            taken.unwrap();
            for name in ["", "map", "none", "none/program", "none/loaded", "links"] {
                assert_eq!(owner(&ours.join(name)), 453, "{name}");
            }
        } else {
            assert!(taken.is_err());
        }
        assert_eq!((owner(&other), owner(&other.join("shadow"))), (own, own));
        let linked = folder.join("linked");
        symlink(&other, &linked).unwrap();
        assert!(Owner { uid: 453, gid: 453 }.take(&linked).is_err());
        assert_eq!(owner(&other), own);
        fs::remove_dir_all(&folder).unwrap();
    }
}
