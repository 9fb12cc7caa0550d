// SPDX-License-Identifier: GPL-2.0-or-later
//! Stores the pending change and the records of ended changes in `/etc/fastpath/changes` and
//! `/var/run/fastpath-change`, and restores old files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use crate::disk::Disk as _;
use crate::host::{Held, Host, Router};
use crate::log;
use crate::record::{FileText, Pending, Record, Running};

/// Maximum number of records, and maximum of their bytes.
pub(crate) const MAX_RECORDS: usize = 10;
const MAX_BYTES: usize = 1 << 20;
const PRIVATE: Option<u32> = Some(0o600);

#[derive(Clone)]
pub(crate) struct Store {
    host: Rc<dyn Host>,
    config: PathBuf,
    release: PathBuf,
    /// Folder of the records, on the medium.
    kept: PathBuf,
    /// Folder of the lock and of state that is valid until the next boot.
    running: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {source}", path.display())]
pub struct StoreError {
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// Serializes calls that change files.
pub(crate) struct Lock(#[expect(dead_code, reason = "closed with the lock")] Held);

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError { what, path: path.to_owned(), source }
}

/// Returns whether a file has a temporary name: our `.NAME.new`, or uci's `.NAME.uci-XXXXXX`.
fn is_unfinished(name: &str) -> bool {
    let of_uci = |rest: &str| rest.rsplit_once(".uci-").is_some_and(|(_, end)| !end.is_empty());
    name.strip_prefix('.').is_some_and(|rest| rest.strip_suffix(".new").is_some() || of_uci(rest))
}

impl Default for Store {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl Store {
    pub(crate) fn below(root: &Path) -> Self {
        Self::on(Rc::new(Router), root)
    }

    pub(crate) fn on(host: Rc<dyn Host>, root: &Path) -> Self {
        Self {
            host,
            config: root.join("etc/config"),
            release: root.join("etc/openwrt_release"),
            kept: root.join("etc/fastpath/changes"),
            running: root.join("var/run/fastpath-change"),
        }
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// Waits for the lock. Returns `None` at the timeout.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, StoreError> {
        self.private_folder(&self.running)?;
        let path = self.running.join("lock");
        let held = self.host.lock(&path).map_err(failed("locking", &path))?;
        Ok(held.map(Lock))
    }

    /// Waits for the lock. Fails at the timeout.
    pub(crate) fn lock_or_busy(&self) -> Result<Lock, StoreError> {
        let path = self.running.join("lock");
        let busy = || failed("locking", &path)(io::ErrorKind::WouldBlock.into());
        self.lock()?.ok_or_else(busy)
    }

    /// Returns the content of a configuration file. `None` if the file is missing.
    pub(crate) fn config(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(&self.config.join(name))
    }

    pub(crate) fn set_config(&self, name: &str, text: &[u8]) -> Result<(), StoreError> {
        let path = self.config.join(name);
        self.host.replace(&path, text, None).map_err(failed("writing", &path))
    }

    /// Returns the contents of configuration files. Missing files are empty.
    pub(crate) fn texts(&self, configs: &[&str]) -> Result<BTreeMap<String, FileText>, StoreError> {
        let mut texts = BTreeMap::new();
        for config in configs {
            let text = self.config(config)?.unwrap_or_default();
            texts.insert((*config).to_owned(), FileText(text));
        }
        Ok(texts)
    }

    pub(crate) fn system(&self) -> Result<Option<String>, StoreError> {
        let text = self.read(&self.release)?;
        Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Restores old files, and logs those that stay.
    pub(crate) fn roll_back(
        &self,
        pending: &Pending,
        applied: Option<&BTreeMap<String, FileText>>,
    ) -> Result<(), StoreError> {
        for config in self.restore(pending, applied)? {
            let id = pending.head.id;
            log::say(&format!("change {id}: {config} has been changed since, and stays"));
        }
        Ok(())
    }

    /// Restores old files, and returns the names of those that stay, because others have edited
    /// them after the change. A truncated copy of the old file does not count as an edit, because
    /// rpcd may leave it on a full disk.
    ///
    /// Without `applied`, files are restored regardless of edits. After an upgrade, the record may
    /// be old, so only files with the content of the change are restored.
    pub(crate) fn restore(
        &self,
        pending: &Pending,
        applied: Option<&BTreeMap<String, FileText>>,
    ) -> Result<Vec<String>, StoreError> {
        let mut stay = Vec::new();
        let elsewhere = applied.is_none() && pending.system != self.system()?;
        for (config, FileText(old)) in &pending.files {
            let now = self.config(config)?.unwrap_or_default();
            if now == *old {
                continue;
            }
            let ours = match applied.and_then(|applied| applied.get(config)) {
                Some(FileText(ours)) => now == *ours,
                None => !elsewhere || pending.wrote(config, &now),
            };
            let incomplete = old.starts_with(&now);
            if incomplete || ours {
                self.set_config(config, old)?;
            } else {
                stay.push(config.clone());
            }
        }
        Ok(stay)
    }

    /// Returns the pending change. Drops an ended change, whose file a power cut or a backup may
    /// have restored.
    pub(crate) fn pending(&self) -> Result<Option<Pending>, StoreError> {
        let Some(pending) = self.read_pending()? else { return Ok(None) };
        let id = pending.head.id;
        // Ids increase, so only a change newer than all records can be pending.
        if self.newest()?.is_none_or(|newest| newest.head.id < id) {
            return Ok(Some(pending));
        }
        self.drop_pending()?;
        log::say(&format!(
            "change {id} has already ended; the copy kept for reverting it is removed"
        ));
        Ok(None)
    }

    /// Reads the pending change. Moves an invalid file aside, so that it does not block further
    /// changes.
    fn read_pending(&self) -> Result<Option<Pending>, StoreError> {
        let path = self.kept.join("pending.json");
        let Some(text) = self.read(&path)? else { return Ok(None) };
        let pending = serde_json::from_slice::<Pending>(&text).ok();
        if pending.is_none() {
            let aside = self.kept.join("pending.broken");
            self.host.set_aside(&path, &aside).map_err(failed("putting aside", &path))?;
            log::say(&format!(
                "{} is not a record of a change; moved to {}, nothing was rolled back",
                path.display(),
                aside.display()
            ));
        }
        Ok(pending)
    }

    pub(crate) fn set_pending(&self, pending: &Pending) -> Result<(), StoreError> {
        self.private_folder(&self.kept)?;
        self.replace(&self.kept.join("pending.json"), pending)
    }

    /// Removes the pending change. The removal is durable on return, so that the next boot does not
    /// revert the change.
    pub(crate) fn drop_pending(&self) -> Result<(), StoreError> {
        for (folder, name) in [(&self.kept, "pending.json"), (&self.running, "running.json")] {
            let path = folder.join(name);
            match self.host.remove(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("removing", &path)(error)),
            }
        }
        Ok(())
    }

    /// Flushes configuration files and their folder. uci flushes only the file.
    pub(crate) fn flush_configs<'a>(
        &self,
        configs: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), StoreError> {
        for path in configs.into_iter().map(|config| self.config.join(config)) {
            match self.host.flush(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("flushing", &path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        self.host.flush(&self.config).map_err(failed("flushing", &self.config))
    }

    /// Returns the running state of the pending change. `None` if the change is older than this
    /// boot.
    pub(crate) fn running(&self) -> Result<Option<Running>, StoreError> {
        let text = self.read(&self.running.join("running.json"))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    pub(crate) fn set_running(&self, running: &Running) -> Result<(), StoreError> {
        self.private_folder(&self.running)?;
        self.replace(&self.running.join("running.json"), running)
    }

    /// Returns the ended changes, newest first.
    pub(crate) fn records(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.ids()?.into_iter().filter_map(|id| self.record(id).ok().flatten()).collect())
    }

    pub(crate) fn newest(&self) -> Result<Option<Record>, StoreError> {
        Ok(self.ids()?.into_iter().find_map(|id| self.record(id).ok().flatten()))
    }

    /// Removes temporary files that a power cut left, because they contain secrets. Must be called
    /// only at boot, when no process writes such files.
    pub(crate) fn remove_unfinished(&self) -> Result<(), StoreError> {
        for folder in [&self.kept, &self.config] {
            for name in self.names(folder)?.iter().filter(|name| is_unfinished(name)) {
                let path = folder.join(name);
                self.host.remove(&path).map_err(failed("removing", &path))?;
            }
        }
        Ok(())
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        match self.host.names(folder) {
            Ok(names) => Ok(names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed("reading", folder)(error)),
        }
    }

    /// Returns the ids of the records, newest first.
    fn ids(&self) -> Result<Vec<u64>, StoreError> {
        let names = self.names(&self.kept)?;
        let id = |name: &String| name.strip_suffix(".json")?.parse().ok();
        let mut ids: Vec<u64> = names.iter().filter_map(id).collect();
        config::sort::by(&mut ids, |a, b| b.cmp(a));
        Ok(ids)
    }

    pub(crate) fn record(&self, id: u64) -> Result<Option<Record>, StoreError> {
        let text = self.read(&self.path(id))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Records an ended change. A failure is only logged, because the change has already ended.
    pub(crate) fn record_end(&self, record: &Record) {
        if let Err(error) = self.add_record(record) {
            log::say(&format!("change {} is not remembered: {error}", record.head.id));
        }
    }

    /// Adds a record, and removes the oldest records above the limits.
    fn add_record(&self, record: &Record) -> Result<(), StoreError> {
        self.private_folder(&self.kept)?;
        self.replace(&self.path(record.head.id), record)?;
        let (mut number, mut bytes) = (0, 0);
        for path in self.ids()?.into_iter().map(|id| self.path(id)) {
            number += 1;
            bytes += self.read(&path)?.map_or(0, |text| text.len());
            // Keep the newest record regardless of its length, so that its change can be undone.
            if number > 1 && (number > MAX_RECORDS || bytes > MAX_BYTES) {
                self.host.remove(&path).map_err(failed("removing", &path))?;
            }
        }
        Ok(())
    }

    pub(crate) fn next_id(&self) -> Result<u64, StoreError> {
        Ok(self.newest()?.map_or(0, |record| record.head.id) + 1)
    }

    fn path(&self, id: u64) -> PathBuf {
        self.kept.join(format!("{id}.json"))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        match self.host.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("reading", path)(error)),
        }
    }

    fn replace(&self, path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
        let text = serde_json::to_vec(value).map_err(io::Error::from);
        let written = text.and_then(|text| self.host.replace(path, &text, PRIVATE));
        written.map_err(failed("writing", path))
    }

    fn private_folder(&self, path: &Path) -> Result<(), StoreError> {
        self.host.make_private_folder(path).map_err(failed("making the folder", path))
    }
}

#[cfg(test)]
mod tests;
