// SPDX-License-Identifier: GPL-2.0-or-later
//! Error chains on one line.

use std::error::Error;

#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.join(": ")
}
