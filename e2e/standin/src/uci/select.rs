// SPDX-License-Identifier: GPL-2.0-or-later
//! Which sections a call means: by name, by `@type[index]`, or by type and options.

use serde_json::Value as Json;
use ubus::{Map, Status};

use super::package::{Package, Section, Value};
use super::syntax::is_type;
use ::uci::is_name;

/// A section's name as a call may give it.
pub(super) fn is_reference(text: &str) -> bool {
    if !text.starts_with('@') {
        return is_name(text);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    extended(text).is_some_and(|(kind, _)| kind.chars().all(allowed))
}

/// The parts of `@type[index]`.
fn extended(text: &str) -> Option<(&str, i64)> {
    let (kind, index) = text.strip_prefix('@')?.strip_suffix(']')?.split_once('[')?;
    Some((kind, index.parse().ok()?))
}

/// Name of the section that a reference means, if there is one.
///
/// # Errors
/// `InvalidArgument` for a malformed `@type[index]`.
pub(super) fn resolve(package: &Package, reference: &str) -> Result<Option<String>, Status> {
    if !reference.starts_with('@') {
        return Ok(package.section(reference).map(|section| section.name.clone()));
    }
    let (kind, index) = extended(reference).ok_or(Status::InvalidArgument)?;
    if !kind.is_empty() && !is_type(kind) {
        return Err(Status::InvalidArgument);
    }
    let of_kind: Vec<&Section> =
        package.sections.iter().filter(|s| kind.is_empty() || s.kind == kind).collect();
    // A negative index counts from the end.
    let at = if index < 0 {
        usize::try_from(-index).ok().and_then(|back| of_kind.len().checked_sub(back))
    } else {
        usize::try_from(index).ok()
    };
    Ok(at.and_then(|at| of_kind.get(at)).map(|section| section.name.clone()))
}

/// A value of a call as UCI text: strings as they are, numbers in decimal, truth as 1 or 0.
pub(super) fn format(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        // rpcd prints a 32-bit number without its sign, and has no use for fractions.
        Json::Number(number) => {
            let wide = number.as_i64()?;
            Some(match i32::try_from(wide) {
                Ok(narrow) => narrow.cast_unsigned().to_string(),
                Err(_) => wide.cast_unsigned().to_string(),
            })
        }
        Json::Bool(truth) => Some(u8::from(*truth).to_string()),
        _ => None,
    }
}

/// Whether a section has the type and the options asked for.
pub(super) fn fits(section: &Section, kind: Option<&str>, wanted: Option<&Map>) -> bool {
    if kind.is_some_and(|kind| kind != section.kind) {
        return false;
    }
    let Some(wanted) = wanted else { return true };
    let wanted: Vec<(&String, String)> =
        wanted.iter().filter_map(|(name, value)| Some((name, format(value)?))).collect();
    let holds = |value: &Value, word: &str| value.words().contains(&word);
    let mut found = wanted.is_empty();
    for (name, word) in &wanted {
        match section.option(name) {
            Some(value) if !holds(value, word) => return false,
            Some(_) => found = true,
            None => {}
        }
    }
    found
}
