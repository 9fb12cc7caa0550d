// SPDX-License-Identifier: GPL-2.0-or-later
//! A plan in nft's language.

use crate::plan::Plan;

/// The whole table, replaced in one transaction. For engine off the same as
/// [`render_remove`].
#[must_use]
pub fn render(plan: &Plan) -> String {
    let _ = plan;
    String::new()
}

/// A script that removes our table, whether it is there or not.
#[must_use]
pub fn render_remove() -> String {
    String::new()
}
