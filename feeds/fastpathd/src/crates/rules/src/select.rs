// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects rules of a source by `category`, `disable` and `drop`, and finds unmatched selectors.

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use config::Fault;

use crate::fault::SourceFault;
use crate::rule::{DEFAULT_GID, Rule};

/// Selector of rules in the settings: `2012345`, `1:2012345` or `cat:emerging-malware`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    Rule {
        /// Generator; 1 by default.
        gid: u32,
        sid: u32,
    },
    /// Rule file by name without `.rules`.
    Category(String),
}

impl FromStr for Selector {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        if let Some(category) = text.strip_prefix("cat:") {
            return category_name(category).map(Self::Category);
        }
        let (gid, sid) = match text.split_once(':') {
            Some((gid, sid)) => (gid.parse().ok(), sid),
            None => (Some(DEFAULT_GID), text),
        };
        match (gid, sid.parse().ok()) {
            (Some(gid), Some(sid)) if sid > 0 => Ok(Self::Rule { gid, sid }),
            _ => Err(Fault::Selector { selector: text.to_owned() }),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { gid: DEFAULT_GID, sid } => write!(f, "{sid}"),
            Self::Rule { gid, sid } => write!(f, "{gid}:{sid}"),
            Self::Category(name) => write!(f, "cat:{name}"),
        }
    }
}

/// Validates the name of a category, and removes `.rules`.
pub(crate) fn category_name(text: &str) -> Result<String, Fault> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 100 || !text.chars().all(good) {
        return Err(Fault::CategoryName { name: text.to_owned() });
    }
    Ok(text.strip_suffix(".rules").unwrap_or(text).to_owned())
}

/// Returns the category of a rule file: its name without folders and `.rules`; `None` for other
/// files.
#[must_use]
pub(crate) fn category_of(path: &str) -> Option<&str> {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".rules").filter(|name| !name.is_empty() && !name.starts_with('.'))
}

/// Selection for one source, with the matched selectors.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    categories: BTreeSet<String>,
    disable: BTreeSet<Selector>,
    drop: BTreeSet<Selector>,
    seen: BTreeSet<String>,
    used: BTreeSet<Selector>,
}

impl Choice {
    /// An empty list of categories selects all.
    #[must_use]
    pub fn new(categories: &[String], disable: &[Selector], drop: &[Selector]) -> Self {
        Self {
            categories: categories.iter().cloned().into_set(),
            disable: disable.iter().cloned().into_set(),
            drop: drop.iter().cloned().into_set(),
            ..Self::default()
        }
    }

    /// Reports whether the rules of a category are selected.
    pub fn takes(&mut self, category: &str) -> bool {
        self.seen.insert(category.to_owned());
        self.categories.is_empty() || self.categories.contains(category)
    }

    pub fn disables(&mut self, rule: &Rule<'_>, category: &str) -> bool {
        used(&self.disable, &mut self.used, rule, category).is_some()
    }

    /// Returns the selector that converts the rule to a drop.
    pub fn drops(&mut self, rule: &Rule<'_>, category: &str) -> Option<Selector> {
        used(&self.drop, &mut self.used, rule, category)
    }

    #[must_use]
    pub fn unused(&self) -> Vec<SourceFault> {
        let missing = self.categories.difference(&self.seen);
        let missing = missing.map(|name| SourceFault::NoCategory { category: name.clone() });
        let unmet = |option: &'static str, asked: &BTreeSet<Selector>| {
            let left: Vec<_> = asked.difference(&self.used).map(ToString::to_string).collect();
            left.into_iter().map(move |selector| SourceFault::Unmatched { option, selector })
        };
        missing.chain(unmet("disable", &self.disable)).chain(unmet("drop", &self.drop)).collect()
    }
}

fn used(
    asked: &BTreeSet<Selector>,
    used: &mut BTreeSet<Selector>,
    rule: &Rule<'_>,
    category: &str,
) -> Option<Selector> {
    // Prefer the number over the category, for a clearer note.
    let selectors =
        [Selector::Rule { gid: rule.gid, sid: rule.sid }, Selector::Category(category.to_owned())];
    let found = selectors.into_iter().find(|selector| asked.contains(selector))?;
    used.insert(found.clone());
    Some(found)
}
