// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz target for `login`, on a bus without rpcd.

use std::path::{Path, PathBuf};

use plugin::{Bus, Call, Map, Refusal};

use crate::account::Accounts;
use crate::login::{Files, begin, login};
use crate::record::Record;

/// Handles one `login`. `folder` stores the record of failures and the keys.
///
/// # Errors
/// The refusal of the login.
pub async fn attempt(mut args: Map, folder: &Path) -> Result<Map, Refusal> {
    let files = Files {
        record: Record::at(folder.join("failures"), "/proc/uptime".into()),
        key: folder.join("access.key"),
        nonce_key: folder.join("nonce.key"),
        accounts: Accounts::at(folder.join("rpcd"), folder.join("passwd"), folder.join("shadow")),
    };
    args.entry("nonce").or_insert(begin(&files)?["nonce"].clone());
    let bus = Bus::at(PathBuf::from("/nonexistent"));
    login(Call::new(args, bus), files).await
}
