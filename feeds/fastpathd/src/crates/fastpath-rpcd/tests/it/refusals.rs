// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the schema lists all refusal codes.

use std::collections::BTreeSet;

use access::LoginReason;
use change::ChangeReason;
use doctor::DoctorReason;
use plugin::CallReason;
use serde_json::{Value, json};

#[test]
fn the_schema_lists_all_refusals() {
    let change = ChangeReason::all_codes();
    let codes =
        [&CallReason::CODES[..], &LoginReason::CODES, &change, &DoctorReason::CODES].concat();
    let unique: BTreeSet<&str> = codes.iter().copied().collect();
    assert_eq!(unique.len(), codes.len(), "a code has one text in the page: {codes:?}");
    let types: Value =
        serde_json::from_str(include_str!("../../../../schema/types.json")).expect("a schema");
    let cause = &types["$defs"]["Refusal"]["properties"]["cause"];
    assert_eq!(cause["properties"]["code"]["enum"], json!(codes));
}
