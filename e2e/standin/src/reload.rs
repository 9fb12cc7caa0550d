// SPDX-License-Identifier: GPL-2.0-or-later
//! Starts programs on a changed configuration or an event, like procd.

use std::path::Path;

use tokio::process::Command;

/// Starts `command WORD` in the background and logs its failure.
pub(crate) fn start(command: &Path, word: &str) {
    let child = Command::new(command).arg(word).stdin(std::process::Stdio::null()).spawn();
    match child {
        Err(error) => log::error!("starting {} {word}: {error}", command.display()),
        Ok(mut child) => {
            let what = format!("{} {word}", command.display());
            tokio::spawn(async move {
                match child.wait().await {
                    Ok(status) if status.success() => log::info!("{what}: done"),
                    Ok(status) => log::error!("{what}: {status}"),
                    Err(error) => log::error!("waiting for {what}: {error}"),
                }
            });
        }
    }
}
