// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths below `/sys/fs/bpf/fastpath`, where maps, programs and links outlive the daemon: maps in
//! the folder itself, programs in a folder for their switch, with a digest of their object in
//! `loaded`, and links in `links`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::layout::LAYOUT;
use crate::role::{Dsa, LoadOptions, ProgramRole};
use crate::sys;

/// Path on a router.
pub const FOLDER: &str = "/sys/fs/bpf/fastpath";

/// The folder, which may be missing until programs are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// Uses the folder at `path`, which must be on a BPF file system.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the pin path of a map.
    #[must_use]
    pub fn map(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the pin path of a program.
    #[must_use]
    pub fn program(&self, dsa: Dsa, role: ProgramRole) -> PathBuf {
        self.0.join(dsa.name()).join(role.name())
    }

    /// Returns the mark that programs from `object` are loaded with this number of flows. The mark
    /// is an empty folder, because bpffs cannot hold regular files.
    #[must_use]
    pub fn mark(&self, object: &[u8], settings: LoadOptions) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (object, settings.flows, LAYOUT).hash(&mut hasher);
        self.marks(settings.dsa).join(format!("{:016x}", hasher.finish()))
    }

    /// Returns the folder of the mark.
    #[must_use]
    pub fn marks(&self, dsa: Dsa) -> PathBuf {
        self.0.join(dsa.name()).join("loaded")
    }

    /// Returns the folder of pinned links.
    #[must_use]
    pub fn links(&self) -> PathBuf {
        self.0.join("links")
    }

    /// Opens a pinned program.
    ///
    /// # Errors
    ///
    /// Returns the kernel's error, which is "not found" if the programs are not loaded.
    pub fn open(&self, dsa: Dsa, role: ProgramRole) -> io::Result<OwnedFd> {
        sys::open(&self.program(dsa, role))
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new(FOLDER)
    }
}
