// SPDX-License-Identifier: GPL-2.0-or-later
//! The lock that serializes runs. A run starts a dozen programs, and any reader may request one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Lock of a run. The kernel releases it when the process ends.
pub(crate) const LOCK: &str = "/var/run/fastpath-doctor.lock";
/// Timeout on the bus, longer than a run. rpcd kills this program after 30 s.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout on the command line, where rpcd's limit does not apply.
pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Acquires the lock until the file is dropped. `None` at the timeout.
pub(crate) fn acquire(path: &Path, timeout: Duration) -> io::Result<Option<File>> {
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    let until = Instant::now() + timeout;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_allows_one_run_at_a_time() {
        let name = format!("fastpath-doctor-{}.lock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let first = acquire(&path, Duration::ZERO).unwrap();
        assert!(first.is_some());
        assert!(acquire(&path, POLL_INTERVAL).unwrap().is_none(), "held by the first");
        drop(first);
        assert!(acquire(&path, Duration::ZERO).unwrap().is_some(), "released");
        std::fs::remove_file(&path).unwrap();
        assert!(acquire(&path.join("no"), Duration::ZERO).is_err(), "no such folder");
    }
}
