// SPDX-License-Identifier: GPL-2.0-or-later
//! Drafts: the packages before and after a list of edits, with the origin of each section.

use config::sort::Collect;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::edit::{Edit, Op, Values};
use ::uci::{Options, Package, Packages, Section};

#[derive(Clone, Debug)]
struct EditedSection {
    /// Index in `before`. `None` for an added section.
    origin: Option<usize>,
    section: Section,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, StoredPackage>", into = "BTreeMap<String, StoredPackage>")]
pub struct Draft {
    pub before: Packages,
    /// An added anonymous section has its `id` as a name, or a name such as `new`.
    pub after: Packages,
    /// Index in `before` of each section in `after`, by package.
    origins: BTreeMap<String, Vec<Option<usize>>>,
}

/// A section before and after a change. At least one of the two exists.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub config: &'a str,
    /// `None` for an added section.
    pub before: Option<&'a Section>,
    /// `None` for a removed section.
    pub after: Option<&'a Section>,
}

config::coded! {
    pub enum DraftError {
        NoSection { config: String, section: String } = "no-section",
            "there is no section '{section}' in {config}";
        Taken { config: String, section: String } = "section-taken",
            "there is a section '{section}' in {config} already";
        NoConfig { config: String } = "no-configuration",
            "there is no configuration {config} on this router";
    }
}

impl Draft {
    /// Applies the edits in order. Stops at the first edit that fails.
    pub fn new(before: Packages, edits: &[Edit]) -> Result<Self, DraftError> {
        let mut edited: BTreeMap<&String, Vec<EditedSection>> = BTreeMap::new();
        for (config, package) in &before {
            let unchanged = |(index, section): (usize, &Section)| EditedSection {
                origin: Some(index),
                section: section.clone(),
            };
            edited.insert(config, package.sections.iter().enumerate().map(unchanged).collect());
        }
        for edit in edits {
            let config = &edit.config;
            let no_config = || DraftError::NoConfig { config: config.clone() };
            let sections = edited.get_mut(config).ok_or_else(no_config)?;
            EditedPackage { config, sections }.apply(&edit.op)?;
        }
        let mut draft = Draft::default();
        for (config, sections) in edited {
            draft.origins.insert(config.clone(), sections.iter().map(|of| of.origin).collect());
            let sections = sections.into_iter().map(|of| of.section).collect();
            draft.after.insert(config.clone(), Package { sections });
        }
        draft.before = before;
        Ok(draft)
    }

    /// Combines this draft with `next`, whose `before` is this draft's `after`.
    #[must_use]
    pub(crate) fn then(self, next: Draft) -> Draft {
        let mut origins = BTreeMap::new();
        for (config, places) in next.origins {
            let first = self.origins.get(&config).map_or(&[][..], Vec::as_slice);
            let place = |place: Option<usize>| first.get(place?).copied().flatten();
            origins.insert(config, places.into_iter().map(place).collect());
        }
        Draft { before: self.before, after: next.after, origins }
    }

    /// Names each added anonymous section by its index.
    pub(crate) fn name_added(&mut self, name: impl Fn(usize) -> String) {
        for (config, package) in &mut self.after {
            let origins = self.origins.get(config).map_or(&[][..], Vec::as_slice);
            let sections = package.sections.iter_mut().zip(origins).enumerate();
            for (index, (section, origin)) in sections {
                if origin.is_none() && section.anonymous {
                    section.name = name(index);
                }
            }
        }
    }

    /// Returns the change that reverts this one.
    #[must_use]
    pub(crate) fn reversed(self) -> Draft {
        let mut origins = BTreeMap::new();
        for (config, package) in &self.before {
            let places = self.origins.get(config).map_or(&[][..], Vec::as_slice);
            let place = |index| places.iter().position(|place| *place == Some(index));
            origins.insert(config.clone(), (0..package.sections.len()).map(place).collect());
        }
        Draft { before: self.after, after: self.before, origins }
    }

    /// Returns all sections: for each package the current sections in order, then the removed ones.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs = Vec::new();
        for (config, after) in &self.after {
            let before = self.before.get(config).map_or(&[][..], |package| &package.sections);
            let origins = self.origins.get(config).map_or(&[][..], Vec::as_slice);
            for (section, origin) in after.sections.iter().zip(origins) {
                let before = origin.and_then(|index| before.get(index));
                pairs.push(Pair { config, before, after: Some(section) });
            }
            for (index, section) in before.iter().enumerate() {
                if !origins.contains(&Some(index)) {
                    pairs.push(Pair { config, before: Some(section), after: None });
                }
            }
        }
        pairs
    }

    /// Returns the pairs of sections that differ.
    #[must_use]
    pub fn changed(&self) -> Vec<Pair<'_>> {
        let differ = |pair: &Pair<'_>| pair.before != pair.after;
        self.pairs().into_iter().filter(differ).collect()
    }

    /// Returns whether remaining sections changed their order, or a new section is not at the end.
    #[must_use]
    pub fn is_reordered(&self, config: &str) -> bool {
        let kept = self.origins.get(config).map_or(&[][..], Vec::as_slice);
        let mut last = None;
        for origin in kept.iter().flatten() {
            if last > Some(origin) {
                return true;
            }
            last = Some(origin);
        }
        kept.iter().rposition(Option::is_some) > kept.iter().position(Option::is_none)
            && kept.iter().any(Option::is_none)
    }

    #[must_use]
    pub fn touched(&self) -> Vec<&str> {
        let differs = |config: &&String| self.before.get(*config) != self.after.get(*config);
        self.after.keys().filter(differs).map(String::as_str).collect()
    }
}

/// Stored form of a changed package, including secrets.
#[derive(Serialize, Deserialize)]
struct StoredPackage {
    before: Vec<Section>,
    after: Vec<Section>,
    origins: Vec<Option<usize>>,
}

impl From<Draft> for BTreeMap<String, StoredPackage> {
    fn from(draft: Draft) -> Self {
        let sections = |packages: &Packages, config: &str| {
            packages.get(config).map(|package| package.sections.clone()).unwrap_or_default()
        };
        let kept = |config: &str| StoredPackage {
            before: sections(&draft.before, config),
            after: sections(&draft.after, config),
            origins: draft.origins.get(config).cloned().unwrap_or_default(),
        };
        draft.touched().into_iter().map(|config| (config.to_owned(), kept(config))).into_map()
    }
}

impl From<BTreeMap<String, StoredPackage>> for Draft {
    fn from(packages: BTreeMap<String, StoredPackage>) -> Self {
        let mut draft = Draft::default();
        for (config, StoredPackage { before, after, origins }) in packages {
            draft.before.insert(config.clone(), Package { sections: before });
            draft.after.insert(config.clone(), Package { sections: after });
            draft.origins.insert(config, origins);
        }
        draft
    }
}

struct EditedPackage<'a> {
    config: &'a str,
    sections: &'a mut Vec<EditedSection>,
}

impl EditedPackage<'_> {
    fn apply(&mut self, op: &Op) -> Result<(), DraftError> {
        match op {
            Op::Add { kind, name, id, options } => {
                self.add(kind, name.as_deref(), id.as_deref(), options)
            }
            Op::Set { section, values } => {
                let index = self.find(section)?;
                set(&mut self.sections[index].section.options, values);
                Ok(())
            }
            Op::Delete { section } => {
                let index = self.find(section)?;
                self.sections.remove(index);
                Ok(())
            }
            Op::Rename { section, name } => {
                let index = self.find(section)?;
                if section != name {
                    self.check_unused(name)?;
                }
                let section = &mut self.sections[index].section;
                section.name.clone_from(name);
                section.anonymous = false;
                Ok(())
            }
            Op::Order { sections } => self.order(sections),
        }
    }

    fn add(
        &mut self,
        kind: &str,
        name: Option<&str>,
        id: Option<&str>,
        options: &Options,
    ) -> Result<(), DraftError> {
        let called = match name.or(id) {
            Some(called) => {
                self.check_unused(called)?;
                called.to_owned()
            }
            None => self.unused_name(),
        };
        let section = Section {
            name: called,
            anonymous: name.is_none(),
            kind: kind.to_owned(),
            options: options.clone(),
        };
        self.sections.push(EditedSection { origin: None, section });
        Ok(())
    }

    /// Moves each section in turn to its index in the list, like uci.
    fn order(&mut self, sections: &[String]) -> Result<(), DraftError> {
        for (index, name) in sections.iter().enumerate() {
            let from = self.find(name)?;
            let section = self.sections.remove(from);
            self.sections.insert(index.min(self.sections.len()), section);
        }
        Ok(())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|of| of.section.name == name)
    }

    fn find(&self, name: &str) -> Result<usize, DraftError> {
        let (config, section) = (self.config.to_owned(), name.to_owned());
        self.position(name).ok_or(DraftError::NoSection { config, section })
    }

    /// Returns an unused name. Later edits could not address a section without a unique name.
    fn unused_name(&self) -> String {
        let names = (2u32..).map(|number| format!("new{number}"));
        let mut names = std::iter::once("new".to_owned()).chain(names);
        names.find(|name| self.position(name).is_none()).unwrap_or_default()
    }

    fn check_unused(&self, name: &str) -> Result<(), DraftError> {
        let (config, section) = (self.config.to_owned(), name.to_owned());
        match self.position(name) {
            None => Ok(()),
            Some(_) => Err(DraftError::Taken { config, section }),
        }
    }
}

fn set(options: &mut Options, values: &Values) {
    for (name, setting) in values {
        match setting {
            Some(setting) => options.insert(name.clone(), setting.clone()),
            None => options.remove(name),
        };
    }
}

#[cfg(test)]
mod tests;
