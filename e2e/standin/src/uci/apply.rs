// SPDX-License-Identifier: GPL-2.0-or-later
//! `uci apply`: commits the changes of a session, and rolls them back unless they are confirmed in
//! time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::{Store, StoreError, copy, make_folder, remove_folder};

/// An apply that is not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Session that called apply.
    pub session: String,
    /// Time of the roll back.
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

/// Names of the non-empty files in a folder, without hidden ones.
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

    /// Confirms the pending apply.
    pub fn confirm(&mut self, store: &Store) {
        self.pending = None;
        forget_snapshots(store);
    }

    /// Commits the changes of `session`. Keeps the old state until `undo_at` if that is set.
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

    /// Restores the old files, and the uncommitted changes if `keeps` is set.
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
