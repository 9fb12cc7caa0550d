// SPDX-License-Identifier: GPL-2.0-or-later
//! The folder `/sys/fs/bpf/fastpath` where maps, programs and links outlive the daemon: paths of
//! all that is pinned there, and the mark of the object that was loaded.
//!
//! It contains the maps; programs are in a folder for the switch whose tags they remove, a digest
//! of their object in `loaded` there; links are in `links`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::layout::LAYOUT;
use crate::role::{Dsa, LoadOptions, ProgramRole};
use crate::sys;

/// Its path on a router.
pub const FOLDER: &str = "/sys/fs/bpf/fastpath";

/// The folder. It may be missing until programs are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, on a BPF file system.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a map is pinned.
    #[must_use]
    pub fn map(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where a program is pinned.
    #[must_use]
    pub fn program(&self, dsa: Dsa, role: ProgramRole) -> PathBuf {
        self.0.join(dsa.name()).join(role.name())
    }

    /// The mark that programs made of `object` are loaded, for so many flows: an empty folder,
    /// since this file system cannot hold regular files.
    #[must_use]
    pub fn mark(&self, object: &[u8], settings: LoadOptions) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (object, settings.flows, LAYOUT).hash(&mut hasher);
        self.marks(settings.dsa).join(format!("{:016x}", hasher.finish()))
    }

    /// Where that mark is, and those of older programs were.
    #[must_use]
    pub fn marks(&self, dsa: Dsa) -> PathBuf {
        self.0.join(dsa.name()).join("loaded")
    }

    /// Where links are pinned.
    #[must_use]
    pub fn links(&self) -> PathBuf {
        self.0.join("links")
    }

    /// Opens a pinned program.
    ///
    /// # Errors
    ///
    /// The kernel's; not found when the programs have not been loaded.
    pub fn open(&self, dsa: Dsa, role: ProgramRole) -> io::Result<OwnedFd> {
        sys::open(&self.program(dsa, role))
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new(FOLDER)
    }
}
