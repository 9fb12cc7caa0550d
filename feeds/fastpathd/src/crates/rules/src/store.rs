// SPDX-License-Identifier: GPL-2.0-or-later
//! Store of the rules in force (`current.rules`), the previous rules, the last good archive of each
//! source, `state.json` and the lock.
//!
//! `current.rules` is replaced by rename only, so Suricata always reads a complete file.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::merge::version_of;
use crate::reason::UpdateReason;
use crate::state::State;

/// Maps the error of a file operation, such as `failed("open", path)`.
pub(crate) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> UpdateReason {
    let path = path.display().to_string();
    move |error| UpdateReason::Store { what, path, said: error.to_string() }
}

/// The store, locked until dropped.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// Lock file; the kernel unlocks it when the process ends.
    _lock: File,
}

impl Store {
    /// Creates the store if necessary, locks it, and removes files of an interrupted update.
    ///
    /// # Errors
    /// Fails if the store is locked or cannot be created.
    pub fn take(root: &Path) -> Result<Self, UpdateReason> {
        let make = |path: &Path| {
            fs::create_dir_all(path).map_err(failed("make folder", path))?;
            // Set the mode regardless of the umask, because Suricata's user reads these folders.
            fs::set_permissions(path, Permissions::from_mode(0o755))
                .map_err(failed("set the mode of", path))
        };
        if !root.is_dir() {
            make(root)?;
        }
        let path = root.join("lock");
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(failed("open", &path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => UpdateReason::Busy,
            TryLockError::Error(cause) => failed("lock", &path)(cause),
        })?;
        let store = Self { root: root.to_owned(), _lock: lock };
        store.clear()?;
        make(&store.root.join("work"))?;
        make(&store.root.join("sources"))?;
        Ok(store)
    }

    /// Removes the work folder.
    pub fn clear(&self) -> Result<(), UpdateReason> {
        let work = self.root.join("work");
        match fs::remove_dir_all(&work) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &work)(error))
            }
            _ => Ok(()),
        }
    }

    /// Path of a file in the work folder, which is removed after the update.
    #[must_use]
    pub fn work(&self, name: &str) -> PathBuf {
        self.root.join("work").join(name)
    }

    #[must_use]
    pub fn archive(&self, source: &str) -> PathBuf {
        self.root.join("sources").join(source)
    }

    /// Keeps an archive as the last good one of its source.
    pub fn keep_archive(&self, from: &Path, source: &str) -> Result<(), UpdateReason> {
        let to = self.archive(source);
        fs::rename(from, &to).map_err(failed("replace", &to))
    }

    /// Removes the archives of sources that are not in `keep`.
    pub fn remove_other_archives(&self, keep: &[&str]) -> Result<(), UpdateReason> {
        let folder = self.root.join("sources");
        let entries = fs::read_dir(&folder).map_err(failed("read", &folder))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !keep.contains(&name) {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Replaces the rules in force by a new file, and keeps them as `previous.rules`.
    ///
    /// # Errors
    /// Fails if a file operation fails; the old rules remain in force.
    pub fn swap(&self, new: &Path) -> Result<(), UpdateReason> {
        let (current, previous) = (current(&self.root), previous(&self.root));
        fs::set_permissions(new, Permissions::from_mode(0o644))
            .map_err(failed("set the mode of", new))?;
        if current.exists() {
            let old = self.work("old.rules");
            copy(&current, &old)?;
            fs::rename(&old, &previous).map_err(failed("replace", &previous))?;
        }
        fs::rename(new, &current).map_err(failed("replace", &current))
    }

    /// Swaps `previous.rules` and the rules in force.
    ///
    /// # Errors
    /// Fails without `previous.rules`, or if a file operation fails.
    pub fn restore(&self) -> Result<(), UpdateReason> {
        let (current, previous) = (current(&self.root), previous(&self.root));
        if !previous.exists() {
            return Err(UpdateReason::NoPrevious);
        }
        let (back, old) = (self.work("back.rules"), self.work("old.rules"));
        copy(&previous, &back)?;
        if current.exists() {
            copy(&current, &old)?;
            fs::rename(&old, &previous).map_err(failed("replace", &previous))?;
        }
        fs::rename(&back, &current).map_err(failed("replace", &current))
    }

    /// Writes a file in the work folder and syncs it to disk.
    pub fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<PathBuf, UpdateReason> {
        let path = self.work(name);
        write(&path, fill).map_err(failed("write", &path))?;
        Ok(path)
    }

    /// Replaces `state.json`.
    pub fn write_state(&self, state: &State) -> Result<(), UpdateReason> {
        let from = self.root.join("state.json.new");
        let put = |file: &mut BufWriter<File>| {
            serde_json::to_writer_pretty(&mut *file, state)?;
            file.write_all(b"\n")
        };
        let to = self.root.join("state.json");
        let written = write(&from, put).map_err(failed("write", &from)).and_then(|()| {
            fs::set_permissions(&from, Permissions::from_mode(0o644))
                .and_then(|()| fs::rename(&from, &to))
                .map_err(failed("replace", &to))
        });
        if written.is_err() {
            // Free the space on a full disk.
            let _ = fs::remove_file(&from);
        }
        written
    }
}

fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Copies the firmware's rules into an empty store, because Suricata needs rules before the first
/// update.
pub(crate) fn provide(root: &Path, own: &Path) -> Result<(), UpdateReason> {
    let store = Store::take(root)?;
    if current(root).exists() {
        return Ok(());
    }
    let text = fs::read(own).map_err(failed("read", own))?;
    store.swap(&store.write("first.rules", |file| file.write_all(&text))?)
}

/// Creates a hard link, or a copy if the file system does not support hard links.
fn copy(from: &Path, to: &Path) -> Result<(), UpdateReason> {
    let _ = fs::remove_file(to);
    fs::hard_link(from, to)
        .or_else(|_| fs::copy(from, to).map(|_| ()))
        .map_err(failed("copy", from))
}

#[must_use]
pub fn current(root: &Path) -> PathBuf {
    root.join("current.rules")
}

#[must_use]
pub fn previous(root: &Path) -> PathBuf {
    root.join("previous.rules")
}

/// Returns the version of a merged file; `None` without the file.
#[must_use]
pub(crate) fn version(path: &Path) -> Option<String> {
    let mut line = String::new();
    let file = launch::foreign::open(path).ok()?;
    io::Read::take(BufReader::new(file), 200).read_line(&mut line).ok()?;
    version_of(&line).map(str::to_owned)
}

/// Maximum size of `state.json` in bytes; the daemon reads the file, too.
const MAX_STATE: u64 = 4 << 20;

/// Returns the stored state with the versions of the rule files. An unreadable state counts as
/// empty, because no decision depends on it.
#[must_use]
pub fn state(root: &Path) -> State {
    let text = launch::foreign::read(&root.join("state.json"), MAX_STATE).unwrap_or_default();
    let value = serde_json::from_slice(&text).unwrap_or(Value::Null);
    let mut state = State::read(value).unwrap_or_default();
    state.version = version(&current(root)).unwrap_or_default();
    state.previous = version(&previous(root)).unwrap_or_default();
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_temporary_file_if_the_state_cannot_be_replaced() {
        let root = std::env::temp_dir().join(format!("rules-state-{}", std::process::id()));
        fs::create_dir_all(root.join("state.json/occupied")).unwrap();
        let store = Store::take(&root).unwrap();
        let error = store.write_state(&State::default()).unwrap_err();
        assert!(matches!(error, UpdateReason::Store { what: "replace", .. }), "{error:?}");
        assert!(!root.join("state.json.new").exists());
        drop(store);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_failed_swap_keeps_the_rules_in_force() {
        let root = std::env::temp_dir().join(format!("rules-swap-{}", std::process::id()));
        let store = Store::take(&root).unwrap();
        fs::write(current(&root), "old").unwrap();
        // A folder cannot replace a file.
        let new = root.join("new.rules");
        fs::create_dir(&new).unwrap();
        let error = store.swap(&new).unwrap_err();
        assert!(matches!(error, UpdateReason::Store { what: "replace", .. }), "{error:?}");
        assert_eq!(fs::read_to_string(current(&root)).unwrap(), "old");
        drop(store);
        fs::remove_dir_all(&root).unwrap();
    }
}
