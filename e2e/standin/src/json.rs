// SPDX-License-Identifier: GPL-2.0-or-later
//! Folders of JSON files.

use std::path::Path;

use serde_json::Value;
use ubus::Map;

/// Returns file name and content of each `*.json` in `folder`, sorted by name. Unusable files are
/// logged and skipped; a missing folder is empty.
pub(crate) fn objects_in(folder: &Path) -> Vec<(String, Map)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().filter_map(|path| object(path)).collect()
}

fn object(path: &Path) -> Option<(String, Map)> {
    let text = std::fs::read_to_string(path)
        .inspect_err(|error| log::error!("reading {}: {error}", path.display()))
        .ok()?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Some((path.file_name()?.to_string_lossy().into_owned(), map)),
        Ok(_) => {
            log::error!("{} holds no JSON object", path.display());
            None
        }
        Err(error) => {
            log::error!("parsing {}: {error}", path.display());
            None
        }
    }
}
