// SPDX-License-Identifier: GPL-2.0-or-later
//! Configuration files in one folder and, in another, the uncommitted changes of each session.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::delta::Delta;
use super::package::Package;
use super::syntax::SyntaxError;
use ::uci::is_package;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no configuration {package}")]
    NotFound { package: String },
    #[error("{package:?} is not a name of a configuration")]
    Name { package: String },
    #[error("reading a configuration")]
    Syntax(#[from] SyntaxError),
    #[error("accessing {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Returns whether a file is missing. A folder may be `/dev/null`, which means no changes.
fn no_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn refused(path: &Path) -> impl Fn(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

#[derive(Clone, Debug)]
pub struct Store {
    pub config: PathBuf,
    /// Folder of files that do not survive a reboot, `/var/run/rpcd`.
    pub run: PathBuf,
    /// Uncommitted changes by shell commands, libuci's `/tmp/.uci`.
    pub staged: PathBuf,
}

impl Store {
    /// Folder of a session's changes. Like in rpcd, calls without a session use the shell's.
    #[must_use]
    pub fn changes_of(&self, session: Option<&str>) -> PathBuf {
        session.map_or_else(|| self.staged.clone(), |id| self.run.join(format!("uci-{id}")))
    }

    /// Drops the changes of all sessions; a restart of the server ends them.
    pub fn forget_sessions(&self) {
        for entry in std::fs::read_dir(&self.run).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("uci-") {
                remove_folder(&entry.path());
            }
        }
    }

    pub fn forget(&self, session: &str) {
        remove_folder(&self.changes_of(Some(session)));
    }

    /// Names of all configurations.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn configs(&self) -> Result<Vec<String>, StoreError> {
        let entries = std::fs::read_dir(&self.config).map_err(refused(&self.config))?;
        let files = entries.flatten().filter(|entry| entry.path().is_file());
        let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| is_package(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Path of a configuration.
    ///
    /// # Errors
    /// Returns an error for an invalid name, because it might escape from the folder.
    pub fn path(&self, package: &str) -> Result<PathBuf, StoreError> {
        if is_package(package) {
            Ok(self.config.join(package))
        } else {
            Err(StoreError::Name { package: package.to_owned() })
        }
    }

    /// Loads a configuration with the changes in the folder `changes`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub fn load(&self, package: &str, changes: &Path) -> Result<Package, StoreError> {
        let path = self.path(package)?;
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NotFound { package: package.to_owned() });
            }
            text => text.map_err(refused(&path))?,
        };
        let mut loaded = Package::parse(package, &text)?;
        for delta in self.deltas(package, changes)? {
            delta.apply(&mut loaded);
        }
        Ok(loaded)
    }

    /// Reads the changes of a configuration.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn deltas(&self, package: &str, changes: &Path) -> Result<Vec<Delta>, StoreError> {
        self.path(package)?;
        let path = changes.join(package);
        match std::fs::read_to_string(&path) {
            Err(error) if no_file(&error) => Ok(Vec::new()),
            text => Ok(Delta::parse_all(package, &text.map_err(refused(&path))?)),
        }
    }

    /// Appends changes.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn save(&self, package: &str, changes: &Path, deltas: &[Delta]) -> Result<(), StoreError> {
        if deltas.is_empty() {
            return Ok(());
        }
        make_folder(changes)?;
        let path = changes.join(package);
        let lines: String = deltas.iter().map(|delta| delta.line(package)).collect();
        let mut options = std::fs::OpenOptions::new();
        let file = options.append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(lines.as_bytes()));
        written.map_err(refused(&path))
    }

    /// Drops the changes of a configuration.
    ///
    /// # Errors
    /// Returns an error if they cannot be removed.
    pub fn revert(&self, package: &str, changes: &Path) -> Result<(), StoreError> {
        self.path(package)?;
        let path = changes.join(package);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Writes the changes into the configuration and drops them.
    ///
    /// # Errors
    /// Returns an error if the configuration cannot be read or written.
    pub fn commit(&self, package: &str, changes: &Path) -> Result<(), StoreError> {
        let path = self.path(package)?;
        if self.deltas(package, changes)?.is_empty() {
            // Report an unknown configuration even without changes.
            return self.load(package, changes).map(|_| ());
        }
        let text = self.load(package, changes)?.export();
        replace(&path, text.as_bytes())?;
        self.revert(package, changes)
    }
}

/// Replaces a file atomically and keeps its mode. Like libuci, syncs before the rename.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.uci-new"));
    let mode = std::fs::metadata(path).map_or(0o600, |known| known.permissions().mode());
    let written = std::fs::write(&new, bytes)
        .and_then(|()| std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)))
        .and_then(|()| std::fs::File::open(&new)?.sync_all())
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(refused(path))
}

pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(path)
        .and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)))
        .map_err(refused(path))
}

pub(super) fn remove_folder(path: &Path) {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            log::warn!("removing {}: {error}", path.display());
        }
        _ => {}
    }
}

/// Overwrites a file in place, like rpcd. On a full disk the file is truncated; the error is
/// logged.
pub(super) fn copy(from: &Path, to: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(to).and_then(|mut to| to.write_all(&std::fs::read(from)?));
    if let Err(error) = written {
        log::warn!("copying {} to {}: {error}", from.display(), to.display());
    }
}
