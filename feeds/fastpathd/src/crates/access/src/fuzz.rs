// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate for the fuzz targets: a `login` on a bus without rpcd.

use std::path::{Path, PathBuf};

use plugin::{Bus, Call, Map, Refusal};

use crate::account::Accounts;
use crate::login::{Files, begin, login};
use crate::record::Record;

/// Answers one `login`. `folder` gets the record of failures and the keys.
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
