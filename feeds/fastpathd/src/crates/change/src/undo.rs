// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the edits that undo a confirmed change of the current configuration. Refuses if a changed
//! value has another value now.

use std::collections::{BTreeMap, BTreeSet};

use crate::diff::label;
use crate::draft::{Draft, DraftError, Pair};
use crate::edit::{Edit, Op, Values};
use ::uci::{Package, Packages, Section};

/// A value or section of the change has another value now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSince {
    pub config: String,
    pub section: String,
    /// Empty for the whole section.
    pub option: String,
}

pub fn inverse(draft: &Draft, current: &Packages) -> Result<Vec<Edit>, ChangedSince> {
    let mut edits = Vec::new();
    for config in draft.touched() {
        let nothing = Package::default();
        let now = current.get(config).unwrap_or(&nothing);
        Inverse::new(draft, config, now).edits(&mut edits)?;
    }
    Ok(edits)
}

/// Undoes several changes as one, newest first.
pub(crate) struct Undo {
    /// Draft from the current configuration to the configuration before the changes.
    back: Draft,
    changes: usize,
}

impl Undo {
    pub(crate) fn new(current: Packages) -> Self {
        Self { back: Draft::new(current, &[]).unwrap_or_default(), changes: 0 }
    }

    /// Adds the next older change.
    ///
    /// # Errors
    /// A value of the change was changed by other means than the added changes.
    pub(crate) fn add(&mut self, draft: &Draft) -> Result<(), ChangedSince> {
        let edits = inverse(draft, &self.back.after)?;
        let mut next = Draft::new(self.back.after.clone(), &edits)?;
        let number = self.changes;
        next.name_added(|index| format!("restored{number}_{index}"));
        self.back = std::mem::take(&mut self.back).then(next);
        self.changes += 1;
        Ok(())
    }

    pub(crate) fn edits(self) -> Result<Vec<Edit>, ChangedSince> {
        let current = self.back.before.clone();
        inverse(&self.back.reversed(), &current)
    }
}

impl From<DraftError> for ChangedSince {
    fn from(error: DraftError) -> Self {
        let (config, section) = match error {
            DraftError::NoSection { config, section } | DraftError::Taken { config, section } => {
                (config, section)
            }
            DraftError::NoConfig { config } => (config, String::new()),
        };
        Self { config, section, option: String::new() }
    }
}

struct Inverse<'a> {
    draft: &'a Draft,
    config: &'a str,
    now: &'a Package,
    pairs: Vec<Pair<'a>>,
    /// Current index of the section of each pair.
    found: Vec<Option<usize>>,
    /// Unused prefix of section names.
    unused: String,
}

impl<'a> Inverse<'a> {
    fn new(draft: &'a Draft, config: &'a str, now: &'a Package) -> Self {
        let pairs: Vec<Pair<'a>> =
            draft.pairs().into_iter().filter(|pair| pair.config == config).collect();
        let mut taken = BTreeSet::new();
        let found = pairs.iter().map(|pair| find(pair.after?, now, &mut taken)).collect();
        let before = pairs.iter().filter_map(|pair| pair.before);
        let names: Vec<&str> = before.chain(&now.sections).map(|of| of.name.as_str()).collect();
        let is_unused = |text: &String| names.iter().all(|name| !name.starts_with(text));
        let mut texts = (0_u32..).map(|number| format!("undo{number}_"));
        let unused = texts.find(is_unused).unwrap_or_default();
        Self { draft, config, now, pairs, found, unused }
    }

    fn edits(&self, edits: &mut Vec<Edit>) -> Result<(), ChangedSince> {
        let mut push = |op| edits.push(Edit { config: self.config.to_owned(), op });
        let mut deleted = BTreeSet::new();
        // Remove sections first, because another section may need the name.
        for (pair, found) in self.pairs.iter().zip(&self.found) {
            let (true, Some(after)) = (is_removed(pair), pair.after) else { continue };
            let (index, section) = self.current(pair, *found)?;
            self.check_unchanged(
                after,
                section,
                section.options.keys().chain(after.options.keys()),
            )?;
            deleted.insert(index);
            push(Op::Delete { section: section.name.clone() });
        }
        let called = self.final_names(&deleted)?;
        for (pair, found) in self.pairs.iter().zip(&self.found) {
            let (false, Some(before), Some(after)) = (is_removed(pair), pair.before, pair.after)
            else {
                continue;
            };
            let (same, named) = (before.options == after.options, !before.anonymous);
            if same && !(named && before.name != after.name) {
                continue;
            }
            let (_, section) = self.current(pair, *found)?;
            let values = self.values(before, after, section)?;
            if !values.is_empty() {
                push(Op::Set { section: section.name.clone(), values });
            }
        }
        self.renames(&called, &deleted, &mut push);
        let mut names = BTreeMap::new();
        for (number, pair) in self.pairs.iter().enumerate() {
            let (true, Some(before)) = (is_restored(pair), pair.before) else { continue };
            let id = format!("{}{number}", self.unused);
            names.insert(number, restore(before, id, &mut push));
        }
        if let Some(sections) = self.order(&called, &deleted, &names) {
            push(Op::Order { sections });
        }
        Ok(())
    }

    /// Returns the final name of each current section.
    fn final_names(&self, deleted: &BTreeSet<usize>) -> Result<Vec<String>, ChangedSince> {
        let mut called: Vec<String> =
            self.now.sections.iter().map(|section| section.name.clone()).collect();
        let mut names: BTreeSet<&String> = BTreeSet::new();
        for (pair, found) in self.pairs.iter().zip(&self.found) {
            let Some(before) = pair.before.filter(|before| !before.anonymous) else { continue };
            if let Some(index) = *found {
                called[index].clone_from(&before.name);
            } else {
                names.insert(&before.name);
            }
        }
        // Another section may have taken a restored name.
        for (index, name) in called.iter().enumerate() {
            if !deleted.contains(&index) && !names.insert(name) {
                return Err(self.changed(name, ""));
            }
        }
        Ok(called)
    }

    /// Returns the old values of changed options. Refuses if an option has another value now.
    fn values(
        &self,
        before: &Section,
        after: &Section,
        now: &Section,
    ) -> Result<Values, ChangedSince> {
        let mut values = Values::new();
        for name in before.options.keys().chain(after.options.keys()) {
            let was = before.options.get(name);
            if was != after.options.get(name) {
                values.insert(name.clone(), was.cloned());
            }
        }
        self.check_unchanged(after, now, values.keys())?;
        Ok(values)
    }

    /// Renames sections. Uses temporary names if sections swap their names.
    fn renames(&self, called: &[String], deleted: &BTreeSet<usize>, push: &mut impl FnMut(Op)) {
        let sections = || self.now.sections.iter().zip(called).enumerate();
        let wanted = || {
            sections().filter(|(index, (section, name))| {
                !deleted.contains(index) && section.name != **name
            })
        };
        let taken = wanted().any(|(_, (_, name))| {
            sections().any(|(index, (other, _))| !deleted.contains(&index) && other.name == *name)
        });
        let temporary_name = |index: usize| format!("{}name{index}", self.unused);
        if taken {
            for (index, (section, _)) in wanted() {
                push(Op::Rename { section: section.name.clone(), name: temporary_name(index) });
            }
        }
        for (index, (section, name)) in wanted() {
            let section = if taken { temporary_name(index) } else { section.name.clone() };
            push(Op::Rename { section, name: name.clone() });
        }
    }

    fn current(
        &self,
        pair: &Pair<'_>,
        found: Option<usize>,
    ) -> Result<(usize, &'a Section), ChangedSince> {
        let section = found.and_then(|index| Some((index, self.now.sections.get(index)?)));
        let name = || match (pair.after, self.draft.after.get(self.config)) {
            (Some(after), Some(package)) => label(package, after),
            _ => String::new(),
        };
        section.ok_or_else(|| self.changed(&name(), ""))
    }

    fn check_unchanged<'n>(
        &self,
        after: &Section,
        now: &Section,
        options: impl Iterator<Item = &'n String>,
    ) -> Result<(), ChangedSince> {
        for name in options {
            if after.options.get(name) != now.options.get(name) {
                return Err(self.changed(&label(self.now, now), name));
            }
        }
        Ok(())
    }

    fn changed(&self, section: &str, option: &str) -> ChangedSince {
        ChangedSince {
            config: self.config.to_owned(),
            section: section.to_owned(),
            option: option.to_owned(),
        }
    }

    /// Returns the old order, or `None` if the other edits already produce it. Sections of later
    /// changes keep their predecessor.
    fn order(
        &self,
        called: &[String],
        deleted: &BTreeSet<usize>,
        restored: &BTreeMap<usize, String>,
    ) -> Option<Vec<String>> {
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, found) in self.found.iter().enumerate() {
            known.extend(found.map(|index| (index, number)));
        }
        let mut natural: Vec<String> = Vec::new();
        let mut wanted: Vec<String> = Vec::new();
        let stays = |index: &usize| !deleted.contains(index);
        natural.extend((0..called.len()).filter(stays).map(|index| called[index].clone()));
        natural.extend(restored.values().cloned());
        // The old order.
        for section in &self.draft.before.get(self.config)?.sections {
            let number = self
                .pairs
                .iter()
                .position(|pair| pair.before.is_some_and(|before| std::ptr::eq(before, section)))?;
            let now = || self.found[number].map(|index| called[index].clone());
            wanted.extend(restored.get(&number).cloned().or_else(now));
        }
        for index in (0..called.len()).filter(stays) {
            let is_new =
                known.get(&index).is_none_or(|number| self.pairs[*number].before.is_none());
            if is_new {
                let behind = (0..index)
                    .rev()
                    .filter(stays)
                    .find_map(|earlier| wanted.iter().position(|name| *name == called[earlier]));
                wanted.insert(behind.map_or(0, |place| place + 1), called[index].clone());
            }
        }
        (wanted != natural).then_some(wanted)
    }
}

/// Returns whether the inverse removes the section: the change has added or named it. uci cannot
/// remove a name.
fn is_removed(pair: &Pair<'_>) -> bool {
    pair.after.is_some() && (pair.before.is_none() || was_named(pair))
}

fn is_restored(pair: &Pair<'_>) -> bool {
    pair.before.is_some() && (pair.after.is_none() || was_named(pair))
}

fn was_named(pair: &Pair<'_>) -> bool {
    pair.before.is_some_and(|of| of.anonymous) && pair.after.is_some_and(|of| !of.anonymous)
}

/// Adds a removed section again. Returns the name for later edits.
fn restore(before: &Section, id: String, push: &mut impl FnMut(Op)) -> String {
    let name = (!before.anonymous).then(|| before.name.clone());
    let called = name.clone().unwrap_or_else(|| id.clone());
    let id = name.is_none().then_some(id);
    push(Op::Add { kind: before.kind.clone(), name, id, options: before.options.clone() });
    called
}

/// Returns the current index of a section. Finds an anonymous section by its content, because its
/// generated name may have changed.
fn find(section: &Section, now: &Package, taken: &mut BTreeSet<usize>) -> Option<usize> {
    let by_name = |other: &Section| {
        other.name == section.name
            && other.kind == section.kind
            && other.anonymous == section.anonymous
            && (!section.anonymous || other.options == section.options)
    };
    let by_contents = |other: &Section| {
        section.anonymous
            && other.anonymous
            && other.kind == section.kind
            && other.options == section.options
    };
    let mut find = |is: &dyn Fn(&Section) -> bool| {
        let mut all = now.sections.iter().enumerate();
        let index = all.find(|(index, other)| !taken.contains(index) && is(other))?.0;
        taken.insert(index);
        Some(index)
    };
    find(&by_name).or_else(|| find(&by_contents))
}

#[cfg(test)]
mod tests;
