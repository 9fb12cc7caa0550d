// SPDX-License-Identifier: GPL-2.0-or-later
//! Restores the previous rule set (`rollback`).

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::reason::UpdateReason;
use crate::state::{State, UpdateOutcome};
use crate::store::{self, Store};

/// Swaps the current and the previous rule set, so a second call reverts the first. The next update
/// uses the sources again.
///
/// # Errors
/// Fails without a previous rule set, or if a file operation fails.
pub fn restore(store: &Store, root: &Path, now_ms: u64) -> Result<State, UpdateReason> {
    store.restore()?;
    let before = store::state(root);
    let path = store::current(root);
    let counted = File::open(&path).and_then(|file| count(BufReader::new(file)));
    let (rules, stopping) = counted.map_err(store::failed("read", &path))?;
    let cause = UpdateReason::Restored.cause();
    let state = State {
        outcome: UpdateOutcome::Restored,
        message: cause.text.clone(),
        cause: cause.into(),
        since_ms: now_ms,
        finished_ms: now_ms,
        rules,
        stopping,
        ..before
    };
    store.write_state(&state)?;
    Ok(state)
}

/// Returns the numbers of rules, and of rules that drop or reject.
fn count(file: impl BufRead) -> io::Result<(u32, u32)> {
    let (mut rules, mut stopping) = (0, 0);
    for line in file.lines() {
        let line = line?;
        if !line.starts_with('#') && !line.trim().is_empty() {
            rules += 1;
            stopping += u32::from(line.starts_with("drop") || line.starts_with("reject"));
        }
    }
    Ok((rules, stopping))
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_only_rules() {
        let firmware: &[u8] = b"# Rules of the firmware\n\nalert a\n\ndrop b\n  \nreject c\n";
        assert_eq!(count(firmware).unwrap(), (3, 2));
    }
}
