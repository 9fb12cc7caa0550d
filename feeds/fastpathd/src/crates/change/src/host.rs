// SPDX-License-Identifier: GPL-2.0-or-later
//! The router's files, clocks and processes behind a trait: atomic writes with flush, locks and how
//! long a call waits for one, and the start of `fastpath-rpcd settle`.

use std::any::Any;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long to wait for another call to end.
const LOCK_PATIENCE: Duration = Duration::from_secs(8);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// A lock that is held; released when dropped, or when the process ends.
pub(crate) type Held = Box<dyn Any>;

/// Writes are on the medium before a method returns.
pub(crate) trait Host {
    /// The bytes of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// A new file in place of the old one at once, or neither. Without a mode it keeps the old
    /// file's, as uci does.
    fn replace(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Flushes a file that another process wrote, or renames in a folder.
    fn flush(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// A folder that only root enters, where there is none.
    fn make_private_folder(&self, path: &Path) -> io::Result<()>;

    /// Waits for a lock; none if somebody holds it for too long.
    fn lock(&self, path: &Path) -> io::Result<Option<Held>>;

    /// Unix milliseconds.
    fn now_ms(&self) -> u64;

    /// Milliseconds since boot.
    fn up_ms(&self) -> u64;

    /// Starts `fastpath-rpcd settle`, which lives until the change that waits has ended: rpcd
    /// reverts it by itself, but forgets it when it restarts, and would not record its end.
    fn start_settle(&self);
}

/// This router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Router;

impl Host for Router {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn replace(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        let kept = || fs::metadata(path).map_or(0o600, |of| of.mode() & 0o777);
        // uci ignores files that begin with a dot.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(Path::new("/"));
        let new = folder.join(format!(".{name}.new"));
        let mode = mode.unwrap_or_else(kept);
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        self.flush(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)?;
        self.flush(path.parent().unwrap_or(Path::new("/")))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.flatten();
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    fn make_private_folder(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Held>> {
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        let until = Instant::now() + LOCK_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Box::new(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn now_ms(&self) -> u64 {
        // A router without a battery begins wrong and is set later.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn up_ms(&self) -> u64 {
        let read = fs::read_to_string("/proc/uptime").ok();
        read.and_then(|text| uptime(&text)).unwrap_or_default()
    }

    fn start_settle(&self) {
        let Ok(program) = std::env::current_exe() else { return };
        // Without it the next call ends the change.
        let _ = Command::new(program)
            // We are the only program that this name starts.
            .arg0("fastpath-rpcd")
            .arg("settle")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
    }
}

/// The first number of `/proc/uptime`: seconds with two digits behind the point.
fn uptime(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1000 + hundredths.parse::<u64>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_read() {
        assert_eq!(uptime("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(uptime("0.05 0.00\n"), Some(50));
        assert_eq!(uptime("nonsense"), None);
        let first = Router.up_ms();
        assert!(first > 0 && Router.now_ms() > first);
    }
}
