// SPDX-License-Identifier: GPL-2.0-or-later
//! `uci apply`: commits a session's changes and rolls them back unless they are confirmed in time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::{Store, StoreError, copy, make_folder, remove_folder};

/// An unconfirmed apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Session that called apply.
    pub session: String,
    /// Time of the rollback.
    pub until: Duration,
}

/// State of applying. Times are relative to an arbitrary start.
#[derive(Debug, Default)]
pub struct Apply {
    pending: Option<Pending>,
}

/// Names of changed configurations, for services that must be notified.
pub type Applied = Vec<String>;

fn snapshot_files(store: &Store) -> PathBuf {
    store.run.join("snapshot-files")
}

fn snapshot_changes(store: &Store) -> PathBuf {
    store.run.join("snapshot-delta")
}

/// Names of non-empty files in a folder. Hidden files are skipped.
pub(super) fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let full = entries.filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() > 0));
    let mut names: Vec<String> =
        full.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

impl Apply {
    #[must_use]
    pub fn pending(&self) -> Option<&Pending> {
        self.pending.as_ref()
    }

    pub fn confirm(&mut self, store: &Store) {
        self.pending = None;
        forget_snapshots(store);
    }

    /// Commits the changes of `session`. With `undo_at`, saves a snapshot for the rollback.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn start(
        &mut self,
        store: &Store,
        session: &str,
        undo_at: Option<Duration>,
    ) -> Result<Applied, StoreError> {
        forget_snapshots(store);
        let changes = store.changes_of(Some(session));
        let names = files_in(&changes);
        let (files, deltas) = (snapshot_files(store), snapshot_changes(store));
        make_folder(&files)?;
        make_folder(&deltas)?;
        for name in &names {
            copy(&store.path(name)?, &files.join(name));
            copy(&changes.join(name), &deltas.join(name));
        }
        self.pending = undo_at.map(|until| Pending { session: session.to_owned(), until });
        for name in &names {
            // Like rpcd, ignore errors of libuci.
            if let Err(error) = store.commit(name, &changes) {
                log::warn!("committing {name}: {error}");
            }
        }
        if self.pending.is_none() {
            forget_snapshots(store);
        }
        Ok(names)
    }

    /// Restores the configuration files, and with `keeps` also the session's uncommitted changes.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn roll_back(&mut self, store: &Store, keeps: bool) -> Result<Applied, StoreError> {
        let Some(Pending { session, .. }) = self.pending.take() else { return Ok(Vec::new()) };
        let (files, deltas) = (snapshot_files(store), snapshot_changes(store));
        let changes = store.changes_of(Some(&session));
        let names = files_in(&files);
        for name in &names {
            copy(&files.join(name), &store.path(name)?);
            if keeps {
                make_folder(&changes)?;
                copy(&deltas.join(name), &changes.join(name));
            }
        }
        forget_snapshots(store);
        Ok(names)
    }
}

fn forget_snapshots(store: &Store) {
    remove_folder(&snapshot_files(store));
    remove_folder(&snapshot_changes(store));
}
