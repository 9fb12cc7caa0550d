// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands `fastpath-rpcd settle`, which ends a pending change after its time (how often and after
//! which pause it retries), and `fastpath-rpcd boot`, which rolls a change back after a power cut.

use std::process::ExitCode;
use std::time::Duration;

use plugin::Bus;

use crate::log;
use crate::record::State;
use crate::store::{Store, StoreError};
use crate::transaction::Changes;

/// rpcd's own timer comes first.
const AFTER: Duration = Duration::from_millis(500);
/// Between attempts for two minutes at least, and then: a disk may be full for days.
const ATTEMPTS: u32 = 120;
const PAUSE: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(30);

/// `fastpath-rpcd settle`: waits for the end of the change that waits.
#[must_use]
pub fn settle(_: &[String]) -> ExitCode {
    let store = crate::store();
    loop {
        let Ok(Some(running)) = store.running() else { return ExitCode::SUCCESS };
        let left = Duration::from_millis(running.until_up_ms.saturating_sub(store.host().up_ms()));
        if left.is_zero() {
            break;
        }
        // It may be confirmed before.
        std::thread::sleep(left.min(Duration::from_secs(1)));
    }
    std::thread::sleep(AFTER);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    // The broker, or rpcd behind it, may be restarting just now.
    for attempt in 0_u32.. {
        let bus = Bus::from_environment();
        let ended = tokio::task::LocalSet::new()
            .block_on(&runtime, async { Changes::open(&bus)?.waiting().await.map(|_| ()) });
        if ended.is_ok() {
            return ExitCode::SUCCESS;
        }
        std::thread::sleep(if attempt < ATTEMPTS { PAUSE } else { LATER });
    }
    ExitCode::FAILURE
}

/// `fastpath-rpcd boot`: before anything reads the configuration.
#[must_use]
pub fn boot(_: &[String]) -> ExitCode {
    match put_back(&crate::store()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("fastpath-rpcd boot: {error}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn put_back(store: &Store) -> Result<(), StoreError> {
    if let Err(error) = store.remove_unfinished() {
        // The old configuration matters more.
        log::say(&error.to_string());
    }
    let Some(pending) = store.pending()? else { return Ok(()) };
    store.restore(&pending, None)?;
    let record = pending.ended(State::PowerCut);
    store.remember(&record);
    store.drop_pending()?;
    log::note(&record.head, "power-cut; old configuration restored", None);
    Ok(())
}
