// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands of `fastpath-rpcd` about a pending change: `settle` waits for its end, `boot` rolls it
//! back after a power cut, and `leave` before an upgrade or the removal of the package.

use std::process::ExitCode;
use std::time::Duration;

use plugin::Bus;

use crate::log;
use crate::record::{Pending, State};
use crate::store::{Store, StoreError};
use crate::transaction::Changes;

/// Number of retries with the short interval. Later retries have the long interval, because a disk
/// may be full for days.
const SHORT_RETRIES: u32 = 120;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const LONG_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// `fastpath-rpcd settle`: waits for the end of the pending change.
#[must_use]
pub fn settle(_: &[String]) -> ExitCode {
    let store = crate::store();
    loop {
        let Ok(Some(running)) = store.running() else { return ExitCode::SUCCESS };
        let left = Duration::from_millis(running.until_up_ms.saturating_sub(store.host().up_ms()));
        if left.is_zero() {
            break;
        }
        // Check every second whether the change was confirmed.
        std::thread::sleep(left.min(Duration::from_secs(1)));
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    // Retry, because ubusd or rpcd may be restarting.
    for attempt in 0_u32.. {
        let bus = Bus::from_environment();
        let ended = tokio::task::LocalSet::new()
            .block_on(&runtime, async { Changes::open(&bus)?.waiting().await.map(|_| ()) });
        if ended.is_ok() {
            return ExitCode::SUCCESS;
        }
        std::thread::sleep(if attempt < SHORT_RETRIES {
            RETRY_INTERVAL
        } else {
            LONG_RETRY_INTERVAL
        });
    }
    ExitCode::FAILURE
}

/// `fastpath-rpcd boot`: rolls back the pending change before services read the configuration.
#[must_use]
pub fn boot(_: &[String]) -> ExitCode {
    code("boot", roll_back_at_boot(&crate::store()))
}

/// `fastpath-rpcd leave`: rolls back the pending change before an upgrade or the removal of the
/// package. Does not reload services, which rpcd does at the end of the time to confirm.
#[must_use]
pub fn leave(_: &[String]) -> ExitCode {
    code("leave", roll_back_before_upgrade(&crate::store()))
}

fn code(command: &str, done: Result<(), StoreError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("fastpath-rpcd {command}: {error}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn roll_back_at_boot(store: &Store) -> Result<(), StoreError> {
    if let Err(error) = store.remove_unfinished() {
        // The rollback is more important than this error.
        log::say(&error.to_string());
    }
    let Some(pending) = store.pending()? else { return Ok(()) };
    store.roll_back(&pending, None)?;
    end(store, pending, "power-cut")
}

pub(crate) fn roll_back_before_upgrade(store: &Store) -> Result<(), StoreError> {
    let _lock = store.lock_or_busy()?;
    let Some(pending) = store.pending()? else { return Ok(()) };
    let running = store.running()?.filter(|running| running.id == pending.head.id);
    store.roll_back(&pending, running.as_ref().map(|running| &running.applied))?;
    // rpcd may have restored the files without flushing them.
    store.flush_configs(pending.files.keys().map(String::as_str))?;
    end(store, pending, "not confirmed before an upgrade or a removal")
}

fn end(store: &Store, pending: Pending, why: &str) -> Result<(), StoreError> {
    let record = pending.ended(State::PowerCut);
    store.record_end(&record);
    store.drop_pending()?;
    log::note(&record.head, &format!("{why}; old configuration restored"), None);
    Ok(())
}
