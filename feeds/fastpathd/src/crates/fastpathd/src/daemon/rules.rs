// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the rules of nftables are those that the previous daemon saw.

use std::path::{Path, PathBuf};

use crate::ips::suricata;

/// The rules have not changed since they were noted.
pub(super) async fn are_known(noted: &Path) -> bool {
    let before = std::fs::read_to_string(noted).unwrap_or_default();
    let now = ctnetlink::generation().await;
    now.is_ok_and(|now| before == now.to_string())
}

/// Notes the rules in force. Each later change is reported, and noted after that.
pub(super) async fn note(noted: PathBuf) {
    let written = match ctnetlink::generation().await {
        Ok(now) => suricata::write(&noted, &now.to_string()),
        Err(error) => Err(format!("reading the generation of the rules: {error}")),
    };
    if let Err(why) = written {
        log::warn!("{why}");
        // An outdated number must not be trusted.
        let _ = std::fs::remove_file(noted);
    }
}
