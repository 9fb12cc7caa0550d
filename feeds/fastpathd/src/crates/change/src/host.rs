// SPDX-License-Identifier: GPL-2.0-or-later
//! The router's clocks, locks and processes behind a trait. `disk.rs` has the files.

use std::any::Any;
use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::disk::Kernel;

/// Maximum wait for another call.
const LOCK_TIMEOUT: Duration = Duration::from_secs(8);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A lock, released on drop or when the process ends.
pub(crate) type Held = Box<dyn Any>;

/// The router of a transaction: files, clocks and processes.
pub(crate) trait Host: Kernel {
    /// Waits for a lock. Returns `None` at the timeout.
    fn lock(&self, path: &Path) -> io::Result<Option<Held>>;

    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64;

    /// Milliseconds since boot.
    fn up_ms(&self) -> u64;

    /// Starts `fastpath-rpcd settle`, which runs until the pending change has ended. rpcd's own
    /// timer does not survive a restart of rpcd, and does not record the end.
    fn start_settle(&self);
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Router;

impl Host for Router {
    fn lock(&self, path: &Path) -> io::Result<Option<Held>> {
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Box::new(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn now_ms(&self) -> u64 {
        // The clock may be before 1970 until NTP sets it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn up_ms(&self) -> u64 {
        let read = fs::read_to_string("/proc/uptime").ok();
        read.and_then(|text| uptime(&text)).unwrap_or_default()
    }

    fn start_settle(&self) {
        let Ok(program) = std::env::current_exe() else { return };
        // If the start fails, the next call ends the change.
        let _ = Command::new(program)
            // The program selects its function by this name.
            .arg0("fastpath-rpcd")
            .arg("settle")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
    }
}

/// Parses the uptime in `/proc/uptime` (seconds with two decimals) to milliseconds.
fn uptime(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1000 + hundredths.parse::<u64>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_uptime() {
        assert_eq!(uptime("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(uptime("0.05 0.00\n"), Some(50));
        assert_eq!(uptime("nonsense"), None);
        let first = Router.up_ms();
        assert!(first > 0 && Router.now_ms() > first);
    }
}
