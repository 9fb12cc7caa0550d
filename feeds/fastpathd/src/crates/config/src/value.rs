// SPDX-License-Identifier: GPL-2.0-or-later
//! Kinds of values that several sections have.

use std::ops::RangeInclusive;

/// Digits only: Rust's own parser would take a sign too.
///
/// # Errors
/// It is not; the text follows the value, as everywhere in this module.
pub fn number(text: &str) -> Result<u32, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("is not a number".to_owned());
    }
    text.parse().map_err(|_| "is too large".to_owned())
}

/// A switch, in any of UCI's spellings.
///
/// # Errors
/// Not such a value.
pub fn switch(text: &str) -> Result<bool, String> {
    uci::switch(text).ok_or_else(|| "is neither 1 nor 0".to_owned())
}

/// A name for people. It ends up between double quotes in nft's language, which knows no
/// escapes, within a comment of at most 128 bytes.
///
/// # Errors
/// It is too long, or has a character that would end the quotes.
pub fn label(text: &str) -> Result<String, String> {
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes"));
    }
    if let Some(bad) = text.chars().find(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return Err(format!("contains {bad:?}, which is not allowed in a name"));
    }
    Ok(text.to_owned())
}

/// Names that the kernel takes and that mean only themselves in nft's language.
#[must_use]
pub fn is_device_name(name: &str) -> bool {
    const LONGEST: usize = 15; // IFNAMSIZ with its final NUL is 16.
    (1..=LONGEST).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-@+~".contains(&c))
}

/// A number from `range`, for [`Section::value`](crate::Section::value).
///
/// # Errors
/// Not a number, or out of range; the text follows the value.
pub fn number_in(range: RangeInclusive<u32>) -> impl FnOnce(&str) -> Result<u32, String> {
    move |text| {
        number(text)
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| format!("is not a number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_knows_its_range() {
        assert_eq!(number_in(1..=5)("5"), Ok(5));
        for bad in ["0", "6", "-1", "+3", "", "x"] {
            assert!(number_in(1..=5)(bad).is_err(), "{bad}");
        }
    }
}
