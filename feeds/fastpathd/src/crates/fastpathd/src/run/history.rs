// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and writes the history on flash, outside the daemon's loop.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use gateway::event::Event as AnyEvent;
use gateway::history::{Effect, Event, Failure, Probe, Query, Write};
use gateway::sys::error::chain;
use ledger::{Files, Ledger};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::bus::requests::log_failure;
use crate::io::Io;
use crate::sys::dns;
use crate::sys::task::spawn_local;

/// `None` before the files were read. The lock also limits the number of threads.
pub(crate) type SharedLedger = Arc<Mutex<Option<Ledger<Folder>>>>;

/// The folder that the init script creates.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    fn page(&self, page: usize) -> PathBuf {
        self.0.join(page.to_string())
    }

    fn open(path: &PathBuf, truncate: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(truncate).mode(0o600).open(path)
    }
}

impl Files for Folder {
    fn read(&self, page: usize) -> io::Result<Vec<u8>> {
        match fs::read(self.page(page)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    fn append(&mut self, page: usize, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = Self::open(&self.page(page), false)?;
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn replace(&mut self, page: usize, bytes: &[u8]) -> io::Result<()> {
        let path = self.page(page);
        let new = path.with_extension("new");
        let write = || {
            let mut file = Self::open(&new, true)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&new, &path)
        };
        write().inspect_err(|_| drop(fs::remove_file(&new)))?;
        // The page is replaced, so a failure must not repeat the write.
        if let Err(error) = File::open(&self.0).and_then(|folder| folder.sync_all()) {
            log::warn!("history: flushing {}: {error}", self.0.display());
        }
        Ok(())
    }

    fn room(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.0)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

pub(crate) fn open(io: &Io) {
    let (ledger, events) = (io.ledger.clone(), io.events.clone());
    let folder = Folder(io.paths.history.clone());
    spawn_local(async move {
        let mut ledger = ledger.lock_owned().await;
        let opened = spawn_blocking(move || {
            let opened = ledger.insert(Ledger::open(folder));
            let recent = opened.take_recent();
            Event::Opened(opened.known().clone(), opened.size(), recent)
        });
        if let Ok(event) = opened.await {
            let _ = events.send(AnyEvent::History(event)).await;
        }
    });
}

pub(crate) fn execute(effect: Effect, io: &Io) {
    let (ledger, events) = (io.ledger.clone(), io.events.clone());
    let work = match effect {
        Effect::Write(work) => work,
        Effect::Probe(probes) => return probes.into_iter().for_each(|one| probe(one, io)),
    };
    spawn_local(async move {
        let ledger = ledger.lock_owned().await;
        if let Ok(result) = spawn_blocking(move || write(ledger, &work)).await {
            let _ = events.send(AnyEvent::History(Event::Written(result))).await;
        }
    });
}

fn write(
    mut ledger: OwnedMutexGuard<Option<Ledger<Folder>>>,
    work: &Write,
) -> Result<u64, Failure> {
    let closed = || Failure { is_full: false, text: "the history is not open".to_owned() };
    let ledger = ledger.as_mut().ok_or_else(closed)?;
    let day_of = |quarter| work.day_of(quarter);
    let written = ledger.write(&work.book, work.quarter, &day_of).map_err(|error| Failure {
        is_full: matches!(error, ledger::Failure::Room { .. }),
        text: chain(&error),
    });
    written.map(|()| ledger.size())
}

/// Sends a probe and reports its round trip. A probe that cannot be sent is not a lost one.
fn probe(probe: Probe, io: &Io) {
    let events = io.events.clone();
    spawn_local(async move {
        match dns::round_trip(&probe.device, probe.server).await {
            Ok(round_trip) => {
                let _ = events.send(AnyEvent::History(Event::Probed(probe, round_trip))).await;
            }
            Err(error) => log::debug!("probing {}: {error}", probe.server),
        }
    });
}

/// Starts the last write.
pub(crate) fn finish(work: Write, io: &Io) -> JoinHandle<()> {
    let ledger = io.ledger.clone();
    spawn_blocking(move || {
        let written = write(ledger.blocking_lock_owned(), &work);
        if let Err(failure) = written {
            log::warn!("history: {}", failure.text);
        }
    })
}

pub(crate) async fn answer(
    method: String,
    mut query: Query,
    ledger: SharedLedger,
    reply: ubus::Reply,
) {
    let ledger = ledger.lock_owned().await;
    let answered = spawn_blocking(move || {
        let (events, writes) = match &*ledger {
            _ if query.without_files().is_some() => {
                (Vec::new(), query.without_files().unwrap_or(0))
            }
            Some(ledger) => {
                let events =
                    ledger.read(&query.span(), |stamp, key, sums| query.add(stamp, key, sums))?;
                (events, ledger.writes())
            }
            None => (Vec::new(), 0),
        };
        Ok::<_, io::Error>(query.answer(events, writes))
    });
    match answered.await {
        Ok(Ok(answer)) => log_failure(&method, reply.table(answer)),
        Ok(Err(error)) => {
            log::error!("history: reading: {error}");
            reply.status(ubus::Status::UnknownError);
        }
        Err(_) => reply.status(ubus::Status::UnknownError),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_append_overwrites_a_torn_end_and_a_replacement_leaves_no_other_file() {
        let path = std::env::temp_dir().join(format!("fastpathd-history-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let mut folder = Folder(path.clone());
        assert_eq!(folder.read(3).unwrap(), b"");
        folder.append(3, 0, b"one torn").unwrap();
        folder.append(3, 4, b"two").unwrap();
        assert_eq!(folder.read(3).unwrap(), b"one two");
        folder.replace(3, b"all").unwrap();
        assert_eq!(folder.read(3).unwrap(), b"all");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(fs::metadata(path.join("3")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(folder.room().unwrap() > 0);
        fs::remove_dir_all(&path).unwrap();
        assert!(folder.append(3, 0, b"x").is_err());
        assert!(folder.replace(3, b"x").is_err());
        assert!(folder.room().is_err());
    }
}
