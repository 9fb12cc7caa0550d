// SPDX-License-Identifier: GPL-2.0-or-later
//! procd's part: a changed configuration makes the services that use it reload.

use std::path::Path;

use tokio::process::Command;

/// Starts `command CONFIG` and lets it run; how it ended goes to the log.
pub(crate) fn start(command: &Path, config: &str) {
    let child = Command::new(command).arg(config).stdin(std::process::Stdio::null()).spawn();
    match child {
        Err(error) => log::error!("starting {} {config}: {error}", command.display()),
        Ok(mut child) => {
            let what = format!("{} {config}", command.display());
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
