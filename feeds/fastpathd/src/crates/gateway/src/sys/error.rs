// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats errors for the log.

use std::error::Error;

/// Returns the text of an error and all its causes, separated by colons.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Some errors already include the text of their cause.
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
