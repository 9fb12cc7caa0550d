// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of pinned maps, programs and links below `/sys/fs/bpf/fastpath`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::layout::LAYOUT;
use crate::role::{Dsa, LoadOptions, ProgramRole};
use crate::sys;

pub const FOLDER: &str = "/sys/fs/bpf/fastpath";

/// Folder of pinned objects. Created when programs are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// `path` must be on a BPF file system.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    #[must_use]
    pub fn map(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    #[must_use]
    pub fn program(&self, dsa: Dsa, role: ProgramRole) -> PathBuf {
        self.0.join(dsa.name()).join(role.name())
    }

    /// Returns the path of the marker for loaded programs, named by the digest of object and
    /// settings. The marker is an empty folder, because bpffs has no regular files.
    #[must_use]
    pub fn mark(&self, object: &[u8], settings: LoadOptions) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (object, settings.flows, LAYOUT).hash(&mut hasher);
        self.marks(settings.dsa).join(format!("{:016x}", hasher.finish()))
    }

    #[must_use]
    pub fn marks(&self, dsa: Dsa) -> PathBuf {
        self.0.join(dsa.name()).join("loaded")
    }

    #[must_use]
    pub fn links(&self) -> PathBuf {
        self.0.join("links")
    }

    pub fn open(&self, dsa: Dsa, role: ProgramRole) -> io::Result<OwnedFd> {
        sys::open(&self.program(dsa, role))
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new(FOLDER)
    }
}
