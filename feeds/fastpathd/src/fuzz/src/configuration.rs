// SPDX-License-Identifier: GPL-2.0-or-later
//! UCI files, the daemon's settings, and edits.

use std::collections::BTreeSet;

use change::{CONFIGS, Draft, Edit, Packages, inverse, read_edits};
use config::exposure::{Router, exposures, services};
use serde_json::Value;

use crate::parts;

/// Parses a file of `/etc/config`. Its formatted text must parse to the same meaning.
pub(crate) fn uci(bytes: &[u8]) {
    let Ok(package) = uci::parse(bytes) else { return };
    let again = uci::parse(&uci::text(&package)).expect("our own text is UCI");
    assert!(again.says(&package), "{package:?} became {again:?}");
    let values = package.values();
    let found = services(|_| Some(package.clone()));
    let router = Router::of(Some(&package), &found, &BTreeSet::new());
    let _ = (exposures(&values, &router), config::digest(&values));
}

pub(crate) fn settings(bytes: &[u8]) {
    let Ok(values) = config::parse_uci(bytes) else { return };
    for problem in gateway::fuzz::settings(&values) {
        assert!(!problem.is_empty() && problem.len() < 100_000);
    }
}

/// Applies a list of edits (`== edits`) to files (`== NAME`), and the inverse edits.
pub(crate) fn edits(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut before, mut list) = (Packages::new(), Vec::new());
    for (name, part) in parts(&text) {
        if CONFIGS.contains(&name)
            && let Ok(package) = uci::parse(part)
        {
            before.insert(name.to_owned(), package);
        } else if name == "edits" {
            list = serde_json::from_str::<Vec<Value>>(part).unwrap_or_default();
        }
    }
    let edits = match read_edits(&list) {
        Ok(edits) => edits,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let sent: Vec<Value> =
        edits.iter().map(|edit| edit.value(&|_, of| serde_json::json!(of))).collect();
    assert_eq!(read_edits(&sent).as_deref(), Ok(&*edits));
    let Ok(draft) = Draft::new(before, &edits) else { return };
    let _ = change::fuzz::judge(&draft);
    if let Ok(back) = inverse(&draft, &draft.after) {
        check_undo(&draft, &back);
    }
}

fn check_undo(draft: &Draft, back: &[Edit]) {
    let undone = Draft::new(draft.after.clone(), back).expect("the inverse edits fit");
    let _ = change::fuzz::judge(&undone);
    for (config, before) in &draft.before {
        assert!(undone.after[config].says(before), "{before:?} became {:?}", undone.after[config]);
    }
}
