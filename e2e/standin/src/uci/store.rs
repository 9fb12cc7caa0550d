// SPDX-License-Identifier: GPL-2.0-or-later
//! The files: configurations in one folder, each session's changes in another.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::delta::Delta;
use super::package::Package;
use super::syntax::SyntaxError;
use ::uci::is_package;

/// Why a configuration cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such configuration.
    #[error("there is no configuration {package}")]
    NotFound {
        /// Its name.
        package: String,
    },
    /// The name cannot be one of a configuration.
    #[error("{package:?} is not a name of a configuration")]
    Name {
        /// The name.
        package: String,
    },
    /// The file is malformed.
    #[error("reading a configuration")]
    Syntax(#[from] SyntaxError),
    /// The kernel refuses.
    #[error("accessing {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

/// There is no such file, nor can there be one: the place for changes may be no folder.
fn no_file(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn refused(path: &Path) -> impl Fn(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

/// Where the files are.
#[derive(Clone, Debug)]
pub struct Store {
    /// Folder of the configurations, `/etc/config`.
    pub config: PathBuf,
    /// Folder of everything that ends with a reboot, `/var/run/rpcd`.
    pub run: PathBuf,
    /// Changes that a shell has staged and not committed, libuci's `/tmp/.uci`.
    pub staged: PathBuf,
}

impl Store {
    /// Folder of a session's changes; without a session rpcd works on those of the command line.
    #[must_use]
    pub fn changes_of(&self, session: Option<&str>) -> PathBuf {
        session.map_or_else(|| self.staged.clone(), |id| self.run.join(format!("uci-{id}")))
    }

    /// Forgets the changes of all sessions, none of which has outlived its server.
    pub fn forget_sessions(&self) {
        for entry in std::fs::read_dir(&self.run).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("uci-") {
                remove_folder(&entry.path());
            }
        }
    }

    /// Forgets the changes of a session.
    pub fn forget(&self, session: &str) {
        remove_folder(&self.changes_of(Some(session)));
    }

    /// Names of all configurations.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn configs(&self) -> Result<Vec<String>, StoreError> {
        let entries = std::fs::read_dir(&self.config).map_err(refused(&self.config))?;
        let files = entries.flatten().filter(|entry| entry.path().is_file());
        let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| is_package(name)).collect();
        names.sort();
        Ok(names)
    }

    /// The file of a configuration.
    ///
    /// # Errors
    /// When the name cannot be one: it might lead out of the folder.
    pub fn path(&self, package: &str) -> Result<PathBuf, StoreError> {
        if is_package(package) {
            Ok(self.config.join(package))
        } else {
            Err(StoreError::Name { package: package.to_owned() })
        }
    }

    /// The configuration with the changes in the folder `changes`.
    ///
    /// # Errors
    /// When it cannot be read.
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

    /// The changes of a configuration.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn deltas(&self, package: &str, changes: &Path) -> Result<Vec<Delta>, StoreError> {
        self.path(package)?;
        let path = changes.join(package);
        match std::fs::read_to_string(&path) {
            Err(error) if no_file(&error) => Ok(Vec::new()),
            text => Ok(Delta::parse_all(package, &text.map_err(refused(&path))?)),
        }
    }

    /// Adds changes to those there are.
    ///
    /// # Errors
    /// When they cannot be written.
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
    /// When they cannot be dropped.
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
    /// When the configuration cannot be read or written.
    pub fn commit(&self, package: &str, changes: &Path) -> Result<(), StoreError> {
        let path = self.path(package)?;
        if self.deltas(package, changes)?.is_empty() {
            // An unknown configuration is an error even without changes.
            return self.load(package, changes).map(|_| ());
        }
        let text = self.load(package, changes)?.export();
        replace(&path, text.as_bytes())?;
        self.revert(package, changes)
    }
}

/// Puts `bytes` in the place of a file at once, keeping its mode; on the disk before it counts, as
/// libuci does.
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

/// Copies into the same file, as rpcd does: nobody learns that it is incomplete on a full disk.
pub(super) fn copy(from: &Path, to: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(to).and_then(|mut to| to.write_all(&std::fs::read(from)?));
    if let Err(error) = written {
        log::warn!("copying {} to {}: {error}", from.display(), to.display());
    }
}
