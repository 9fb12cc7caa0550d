// SPDX-License-Identifier: GPL-2.0-or-later
//! What is kept of changes on the router: files that only root reads.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plugin::Map;
use serde_json::Value;

use crate::log;
use crate::record::{Pending, Record, Running};

/// Changes that are remembered.
pub(crate) const MOST_RECORDS: usize = 10;
/// How long to wait for another call to end.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The folders.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The configuration.
    config: PathBuf,
    /// Records, over a loss of power.
    kept: PathBuf,
    /// The lock and what ends with this boot.
    running: PathBuf,
}

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {source}", path.display())]
pub struct StoreError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Only one call changes anything at a time. The kernel lets go of it when the process ends,
/// however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "closed with the lock")] File);

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError { what, path: path.to_owned(), source }
}

impl Default for Store {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl Store {
    /// The folders of a root file system.
    #[must_use]
    pub(crate) fn below(root: &Path) -> Self {
        Self {
            config: root.join("etc/config"),
            kept: root.join("etc/fastpath/changes"),
            running: root.join("var/run/fastpath-change"),
        }
    }

    /// Waits for the lock; none if somebody holds it for too long.
    ///
    /// # Errors
    /// The lock's file cannot be made.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, StoreError> {
        private_folder(&self.running)?;
        let path = self.running.join("lock");
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(failed("opening", &path))?;
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed("locking", &path)(error)),
            }
        }
    }

    /// The text of a file of the configuration; none if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn config(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        read(&self.config.join(name))
    }

    /// Replaces a file of the configuration at once, as uci does.
    ///
    /// # Errors
    /// It cannot be written; the old one is still there.
    pub(crate) fn set_config(&self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        let path = self.config.join(name);
        // uci leaves a file's mode as it is.
        let mode =
            fs::metadata(&path).map_or(0o600, |of| std::os::unix::fs::MetadataExt::mode(&of));
        replace(&path, text, mode & 0o777)
    }

    /// The change that waits for its confirmation. Not one that has ended: its file may be there
    /// after a power cut before the removal was on disk, or from a backup.
    ///
    /// # Errors
    /// A file cannot be read, or the one of no use not be removed.
    pub(crate) fn pending(&self) -> Result<Option<Pending>, StoreError> {
        let Some(pending) = self.noted()? else { return Ok(None) };
        let id = pending.head.id;
        // Numbers rise, and there is one change at a time.
        if self.records()?.first().is_none_or(|newest| newest.id < id) {
            return Ok(Some(pending));
        }
        self.drop_pending()?;
        log::say(&format!(
            "change {id} has already ended; the copy kept for reverting it is removed"
        ));
        Ok(None)
    }

    /// The record of the change that waits. A file that cannot be read as one is moved aside and
    /// logged: it cannot be used to revert anything, and must not block all further changes.
    fn noted(&self) -> Result<Option<Pending>, StoreError> {
        let path = self.kept.join("pending.json");
        let Some(text) = read(&path)? else { return Ok(None) };
        let pending = serde_json::from_slice::<Value>(&text).ok().and_then(|of| Pending::read(&of));
        if pending.is_none() {
            let aside = self.kept.join("pending.broken");
            fs::rename(&path, &aside).map_err(failed("putting aside", &path))?;
            log::say(&format!(
                "{} is no record of a change; it is {} now, and nothing was taken back by it",
                path.display(),
                aside.display()
            ));
        }
        Ok(pending)
    }

    /// Notes a change before it is made.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn set_pending(&self, pending: &Pending) -> Result<(), StoreError> {
        private_folder(&self.kept)?;
        replace(&self.kept.join("pending.json"), pending.value().to_string().as_bytes(), 0o600)
    }

    /// The change has ended, on disk too when this returns: otherwise the next boot would revert
    /// it.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub(crate) fn drop_pending(&self) -> Result<(), StoreError> {
        for (folder, name) in [(&self.kept, "pending.json"), (&self.running, "running.json")] {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Ok(()) => sync(folder)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("removing", &path)(error)),
            }
        }
        Ok(())
    }

    /// Flushes these files of the configuration and their folder to disk. uci flushes a new file,
    /// but not the folder in which it replaces the old one.
    ///
    /// # Errors
    /// The kernel cannot write them.
    pub(crate) fn flush_configs<'a>(
        &self,
        configs: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), StoreError> {
        for path in configs.into_iter().map(|config| self.config.join(config)) {
            match File::open(&path).and_then(|file| file.sync_all()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("flushing", &path)(error));
                }
                _ => {}
            }
        }
        sync(&self.config)
    }

    /// What of the waiting change ends with this boot; none if it began before it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn running(&self) -> Result<Option<Running>, StoreError> {
        let text = read(&self.running.join("running.json"))?;
        Ok(text.and_then(|text| Running::read(&serde_json::from_slice::<Value>(&text).ok()?)))
    }

    /// Notes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn set_running(&self, running: &Running) -> Result<(), StoreError> {
        private_folder(&self.running)?;
        replace(&self.running.join("running.json"), running.value().to_string().as_bytes(), 0o600)
    }

    /// The changes that have ended, the newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn records(&self) -> Result<Vec<Record>, StoreError> {
        let mut ids: Vec<u64> = Vec::new();
        let entries = match fs::read_dir(&self.kept) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("reading", &self.kept)(error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let id: Option<u64> = id.and_then(|id| id.parse().ok());
            ids.extend(id);
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids.into_iter().filter_map(|id| self.record(id).ok().flatten()).collect())
    }

    /// One of them.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn record(&self, id: u64) -> Result<Option<Record>, StoreError> {
        let text = read(&self.path(id))?;
        Ok(text.and_then(|text| Record::read(&serde_json::from_slice::<Value>(&text).ok()?)))
    }

    /// Remembers a change that has ended, if there is room for that: it has ended all the same.
    pub(crate) fn remember(&self, record: &Record) {
        if let Err(error) = self.add_record(record) {
            log::say(&format!("change {} is not remembered: {error}", record.id));
        }
    }

    /// Remembers a change that has ended, and forgets the oldest.
    ///
    /// # Errors
    /// It cannot be written.
    fn add_record(&self, record: &Record) -> Result<(), StoreError> {
        private_folder(&self.kept)?;
        replace(&self.path(record.id), record.value().to_string().as_bytes(), 0o600)?;
        for old in self.records()?.into_iter().skip(MOST_RECORDS) {
            let path = self.path(old.id);
            fs::remove_file(&path).map_err(failed("removing", &path))?;
        }
        Ok(())
    }

    /// A number that no change has had.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn next_id(&self) -> Result<u64, StoreError> {
        Ok(self.records()?.first().map_or(0, |record| record.id) + 1)
    }

    fn path(&self, id: u64) -> PathBuf {
        self.kept.join(format!("{id}.json"))
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("reading", path)(error)),
    }
}

fn private_folder(path: &Path) -> Result<(), StoreError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(failed("making the folder", path))
}

/// Flushes what was renamed and removed in a folder to disk.
fn sync(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|of| of.sync_all()).map_err(failed("flushing", folder))
}

/// A new file in the place of the old one, on the medium before this returns.
fn replace(path: &Path, text: &[u8], mode: u32) -> Result<(), StoreError> {
    // uci passes files beginning with a dot over.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new("/"));
    let new = folder.join(format!(".{name}.new"));
    let write = || {
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(&new)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(failed("writing", path))
}

/// A field of a record.
pub(crate) fn number(map: &Map, field: &str) -> Option<u64> {
    map.get(field)?.as_u64()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
