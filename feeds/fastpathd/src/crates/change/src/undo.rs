// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes the edits that undo a confirmed change on the current configuration: finds its sections,
//! orders the edits, and refuses if a value has changed since.

use std::collections::{BTreeMap, BTreeSet};

use crate::diff::label;
use crate::draft::{Draft, DraftError, Pair};
use crate::edit::{Edit, Op, Values};
use ::uci::{Package, Packages, Section};

/// A value or section that the change wrote has been changed again since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSince {
    pub config: String,
    /// Label of the section for people.
    pub section: String,
    /// Empty for the whole section.
    pub option: String,
}

/// Returns the edits that undo a change.
///
/// # Errors
/// A value that the change wrote has changed since.
pub fn inverse(draft: &Draft, current: &Packages) -> Result<Vec<Edit>, ChangedSince> {
    let mut edits = Vec::new();
    for config in draft.touched() {
        let nothing = Package::default();
        let now = current.get(config).unwrap_or(&nothing);
        Inverse::new(draft, config, now).edits(&mut edits)?;
    }
    Ok(edits)
}

/// Several changes that are undone as one, from the newest to an older one.
pub(crate) struct Undo {
    /// Draft from the current configuration to the one before the changes.
    back: Draft,
    changes: usize,
}

impl Undo {
    /// Starts with the current configuration and without a change.
    pub(crate) fn new(current: Packages) -> Self {
        Self { back: Draft::new(current, &[]).unwrap_or_default(), changes: 0 }
    }

    /// Undoes the next older change, too.
    ///
    /// # Errors
    /// A value that the change wrote was changed by something else than the added changes. The
    /// change is not added.
    pub(crate) fn add(&mut self, draft: &Draft) -> Result<(), ChangedSince> {
        let edits = inverse(draft, &self.back.after)?;
        let mut next = Draft::new(self.back.after.clone(), &edits)?;
        let number = self.changes;
        next.name_added(|index| format!("restored{number}_{index}"));
        self.back = std::mem::take(&mut self.back).then(next);
        self.changes += 1;
        Ok(())
    }

    /// Returns the edits that undo all added changes.
    ///
    /// # Errors
    /// The edits do not lead to the old configuration.
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

/// Inverse of a change within one package.
struct Inverse<'a> {
    draft: &'a Draft,
    config: &'a str,
    now: &'a Package,
    pairs: Vec<Pair<'a>>,
    /// Current index of the section of each pair.
    found: Vec<Option<usize>>,
    /// Beginning of names that no section has.
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
        // Removals come first, because a name may have moved to another section.
        for (pair, found) in self.pairs.iter().zip(&self.found) {
            let (true, Some(after)) = (is_removed(pair), pair.after) else { continue };
            let (index, section) = self.still(pair, *found)?;
            self.untouched(after, section, section.options.keys().chain(after.options.keys()))?;
            deleted.insert(index);
            push(Op::Delete { section: section.name.clone() });
        }
        let called = self.called(&deleted)?;
        for (pair, found) in self.pairs.iter().zip(&self.found) {
            let (false, Some(before), Some(after)) = (is_removed(pair), pair.before, pair.after)
            else {
                continue;
            };
            let (same, named) = (before.options == after.options, !before.anonymous);
            if same && !(named && before.name != after.name) {
                continue;
            }
            let (_, section) = self.still(pair, *found)?;
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
    fn called(&self, deleted: &BTreeSet<usize>) -> Result<Vec<String>, ChangedSince> {
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
        // A name that is needed again may be taken by now.
        for (index, name) in called.iter().enumerate() {
            if !deleted.contains(&index) && !names.insert(name) {
                return Err(self.changed(name, ""));
            }
        }
        Ok(called)
    }

    /// Returns the old values of options that the change wrote. Refuses if one has changed since.
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
        self.untouched(after, now, values.keys())?;
        Ok(values)
    }

    /// Renames sections. If names were swapped, each section first gets a temporary name.
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
        let aside = |index: usize| format!("{}name{index}", self.unused);
        if taken {
            for (index, (section, _)) in wanted() {
                push(Op::Rename { section: section.name.clone(), name: aside(index) });
            }
        }
        for (index, (section, name)) in wanted() {
            let section = if taken { aside(index) } else { section.name.clone() };
            push(Op::Rename { section, name: name.clone() });
        }
    }

    fn still(
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

    fn untouched<'n>(
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

    /// Returns the old order, unless the other edits lead to it anyway. Later sections stay behind
    /// the section that they follow now.
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
        // The order before, by the numbers of pairs.
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

/// Reports whether the inverse removes the section: the change has made it, or has given it a name,
/// which cannot be taken away.
fn is_removed(pair: &Pair<'_>) -> bool {
    pair.after.is_some() && (pair.before.is_none() || got_a_name(pair))
}

fn is_restored(pair: &Pair<'_>) -> bool {
    pair.before.is_some() && (pair.after.is_none() || got_a_name(pair))
}

fn got_a_name(pair: &Pair<'_>) -> bool {
    pair.before.is_some_and(|of| of.anonymous) && pair.after.is_some_and(|of| !of.anonymous)
}

/// Adds a removed section again. Returns its name in later edits.
fn restore(before: &Section, id: String, push: &mut impl FnMut(Op)) -> String {
    let name = (!before.anonymous).then(|| before.name.clone());
    let called = name.clone().unwrap_or_else(|| id.clone());
    let id = name.is_none().then_some(id);
    push(Op::Add { kind: before.kind.clone(), name, id, options: before.options.clone() });
    called
}

/// Returns the current index of a section. The generated name of an anonymous section may have
/// changed since, but not its content.
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
