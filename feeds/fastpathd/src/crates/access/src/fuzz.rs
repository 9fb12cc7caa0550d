// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate, for the fuzz targets: arguments of `login` as uhttpd passes
//! them on, against a bus without rpcd.

use std::path::{Path, PathBuf};

use plugin::{Bus, Call, Map, Refusal};

use crate::login::login;
use crate::record::Record;

/// Answers one `login`; `folder` gets the record of failures and the key of tokens.
///
/// # Errors
/// The answer that the page gets.
pub async fn attempt(args: Map, folder: &Path) -> Result<Map, Refusal> {
    let record = Record::at(folder.join("failures"), "/proc/uptime".into());
    let bus = Bus::at(PathBuf::from("/nonexistent"));
    login(Call::new(args, bus), record, folder.join("access.key")).await
}
