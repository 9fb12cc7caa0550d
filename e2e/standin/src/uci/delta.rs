// SPDX-License-Identifier: GPL-2.0-or-later
//! Uncommitted changes, one per line.

use super::package::{Package, Value};
use super::syntax::{is_type, quote, statements};
use ::uci::is_name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Add,
    Remove,
    Set,
    Rename,
    Order,
    ListAdd,
    ListDel,
}

const COMMANDS: [(Command, &str, &str); 7] = [
    (Command::Add, "+", "add"),
    (Command::Remove, "-", "remove"),
    (Command::Set, "", "set"),
    (Command::Rename, "@", "rename"),
    (Command::Order, "^", "order"),
    (Command::ListAdd, "|", "list-add"),
    (Command::ListDel, "~", "list-del"),
];

impl Command {
    fn sign(self) -> &'static str {
        COMMANDS.iter().find(|(known, ..)| *known == self).map_or("", |(_, sign, _)| sign)
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        COMMANDS.iter().find(|(known, ..)| *known == self).map_or("", |(_, _, word)| word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub command: Command,
    pub section: String,
    /// `None` for changes of the section itself.
    pub option: Option<String>,
    pub value: Option<String>,
}

impl Delta {
    #[must_use]
    pub fn new(command: Command, section: &str, option: Option<&str>, value: Option<&str>) -> Self {
        let (option, value) = (option.map(str::to_owned), value.map(str::to_owned));
        Delta { command, section: section.to_owned(), option, value }
    }

    /// Formats the change as a line of a delta file.
    #[must_use]
    pub fn line(&self, package: &str) -> String {
        let option = self.option.as_ref().map(|option| format!(".{option}")).unwrap_or_default();
        let value = self.value.as_ref().map(|v| format!("={}", quote(v))).unwrap_or_default();
        format!("{}{package}.{}{option}{value}\n", self.command.sign(), self.section)
    }

    /// Parses a delta file. Like libuci, skips invalid lines.
    #[must_use]
    pub fn parse_all(package: &str, text: &str) -> Vec<Delta> {
        let statements = statements(text).unwrap_or_else(|(line, what)| {
            log::warn!("changes of {package}, line {line}: {what}; none of them counts");
            Vec::new()
        });
        statements.iter().filter_map(|s| Delta::parse(package, s.words.first()?)).collect()
    }

    fn parse(package: &str, line: &str) -> Option<Delta> {
        let signed =
            |(_, sign, _): &&(Command, &str, &str)| !sign.is_empty() && line.starts_with(sign);
        let (command, sign, _) = COMMANDS.iter().find(signed).unwrap_or(&(Command::Set, "", "set"));
        let rest = line.strip_prefix(sign)?;
        let (path, value) = match rest.split_once('=') {
            Some((path, value)) => (path, Some(value)),
            None => (rest, None),
        };
        let mut parts = path.splitn(3, '.');
        if parts.next() != Some(package) {
            return None;
        }
        let section = parts.next().filter(|name| is_name(name))?;
        let option = parts.next();
        if option.is_some_and(|name| !is_name(name)) {
            return None;
        }
        (*command == Command::Remove || value.is_some())
            .then(|| Delta::new(*command, section, option, value))
    }

    /// Applies the change. Returns false for a missing section or option.
    pub fn apply(&self, package: &mut Package) -> bool {
        let value = self.value.as_deref().unwrap_or_default();
        let at = package.index(&self.section);
        match (self.command, &self.option, at) {
            (Command::Add | Command::Set, None, _) => {
                self.set_section(package, at, value);
                is_type(value)
            }
            (Command::Set, Some(option), Some(at)) => {
                match value {
                    "" => package.sections[at].options.retain(|(name, _)| name != option),
                    value => package.sections[at].set(option, value),
                }
                true
            }
            (Command::ListAdd, Some(option), Some(at)) => {
                package.sections[at].add(option, value);
                true
            }
            (Command::ListDel, Some(option), Some(at)) => {
                let mut options = package.sections[at].options.iter_mut();
                match options.find(|(name, _)| name == option) {
                    Some((_, Value::List(values))) => values.retain(|known| known != value),
                    _ => return false,
                }
                true
            }
            (Command::Remove, None, Some(at)) => {
                package.sections.remove(at);
                true
            }
            (Command::Remove, Some(option), Some(at)) => {
                let options = &mut package.sections[at].options;
                let known = options.len();
                options.retain(|(name, _)| name != option);
                options.len() < known
            }
            (Command::Rename, None, Some(at)) => {
                value.clone_into(&mut package.sections[at].name);
                package.sections[at].anonymous = false;
                true
            }
            (Command::Rename, Some(option), Some(at)) => {
                let mut options = package.sections[at].options.iter_mut();
                options.find(|(name, _)| name == option).is_some_and(|(name, _)| {
                    value.clone_into(name);
                    true
                })
            }
            (Command::Order, None, Some(at)) => {
                let section = package.sections.remove(at);
                let to = value.parse().unwrap_or(0).min(package.sections.len());
                package.sections.insert(to, section);
                true
            }
            _ => false,
        }
    }

    fn set_section(&self, package: &mut Package, at: Option<usize>, kind: &str) {
        if !is_type(kind) {
            return;
        }
        match at {
            Some(at) => kind.clone_into(&mut package.sections[at].kind),
            None => {
                package.push(kind, Some(&self.section));
            }
        }
        if self.command == Command::Add
            && let Some(section) = package.sections.iter_mut().find(|s| s.name == self.section)
        {
            section.anonymous = true;
        }
    }
}
