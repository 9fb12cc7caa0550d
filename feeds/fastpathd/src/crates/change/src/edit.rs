// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses and formats the edits of a change as JSON, and restores masked secrets.

use std::collections::BTreeMap;

use plugin::Map;
use serde_json::{Value, json};

use crate::secret::{MASK, has_mask};
use ::uci::{Options, Package, Setting};

#[rustfmt::skip]
pub const CONFIGS: &[&str] = &[
    "dhcp", "fastpath", "firewall", "https-dns-proxy", "igmpproxy", "mwan3", "network", "rpcd",
    "sqm", "stubby", "suricata", "system", "wireless",
];
pub(crate) const MAX_EDITS: usize = 512;
/// Maximum number of options in an edit, entries in a list, and sections in an order.
const MAX_ENTRIES: usize = 1024;
/// Maximum length of a value, in bytes.
const MAX_VALUE_LEN: usize = 4096;
/// Maximum length of a name, in bytes. uci has no limit.
const MAX_NAME_LEN: usize = 64;

/// Members of each operation, in addition to `config` and `op`.
const MEMBERS: &[(&str, &[&str])] = &[
    ("add", &["type", "section", "id", "values"]),
    ("set", &["section", "values"]),
    ("delete", &["section"]),
    ("rename", &["section", "name"]),
    ("order", &["sections"]),
];

/// New values of options. `None` removes an option.
pub(crate) type Values = BTreeMap<String, Option<Setting>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub config: String,
    pub op: Op,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Adds a section at the end. A section without a name is anonymous. Later edits of the same
    /// list refer to it by `id`.
    Add {
        kind: String,
        name: Option<String>,
        id: Option<String>,
        options: Options,
    },
    Set {
        section: String,
        values: Values,
    },
    Delete {
        section: String,
    },
    Rename {
        section: String,
        name: String,
    },
    /// Moves the sections to the front, in this order.
    Order {
        sections: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edit {number}{}: {what}", Self::of(.field))]
pub struct EditError {
    /// Position of the edit in the list, from 1. 0 for the list itself.
    pub number: usize,
    /// Name of the field. Empty for the whole edit.
    pub field: String,
    pub what: String,
}

impl EditError {
    fn of(field: &str) -> String {
        if field.is_empty() { String::new() } else { format!(", '{}'", field.escape_debug()) }
    }
}

/// Parses a list of edits. Does not check whether sections exist or values fit.
pub fn read_edits(list: &[Value]) -> Result<Vec<Edit>, EditError> {
    if list.len() > MAX_EDITS {
        let what = format!("a change has at most {MAX_EDITS} edits, this has {}", list.len());
        return Err(EditError { number: 0, field: String::new(), what });
    }
    list.iter()
        .enumerate()
        .map(|(index, value)| Fields { number: index + 1, value }.edit())
        .collect()
}

struct Fields<'a> {
    number: usize,
    value: &'a Value,
}

impl<'a> Fields<'a> {
    fn wrong(&self, field: &str, what: impl Into<String>) -> EditError {
        EditError { number: self.number, field: field.to_owned(), what: what.into() }
    }

    fn edit(&self) -> Result<Edit, EditError> {
        if !self.value.is_object() {
            return Err(self.wrong("", "is not an object"));
        }
        let config = self.text("config")?;
        if !CONFIGS.contains(&config) {
            return Err(self.wrong("config", format!("is not one of {}", CONFIGS.join(", "))));
        }
        let op = self.text("op")?;
        let (_, members) = MEMBERS
            .iter()
            .find(|(known, _)| *known == op)
            .ok_or_else(|| self.wrong("op", "is not one of add, set, delete, rename, order"))?;
        self.only(op, members)?;
        let op = match op {
            "add" => self.add()?,
            "set" => Op::Set { section: self.name("section")?, values: self.values()? },
            "delete" => Op::Delete { section: self.name("section")? },
            "rename" => Op::Rename { section: self.name("section")?, name: self.name("name")? },
            _ => Op::Order { sections: self.sections()? },
        };
        Ok(Edit { config: config.to_owned(), op })
    }

    /// Refuses unknown members of an operation. An ignored member would make a different edit.
    fn only(&self, op: &str, members: &[&str]) -> Result<(), EditError> {
        let known = |name: &str| matches!(name, "config" | "op") || members.contains(&name);
        let mut names = self.value.as_object().into_iter().flat_map(Map::keys);
        names.find(|name| !known(name)).map_or(Ok(()), |name| {
            let what = format!("is not a member of {op}; it has {}", members.join(", "));
            Err(self.wrong(name, what))
        })
    }

    fn add(&self) -> Result<Op, EditError> {
        let kind = self.text("type")?;
        if !is_name(&kind.replace('-', "_")) {
            return Err(self.wrong("type", "cannot be the type of a section"));
        }
        let optional = |field| match self.value.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.name(field).map(Some),
        };
        let given = self.values()?.into_iter();
        let mut options = Options::new();
        options.extend(given.filter_map(|(name, setting)| Some((name, setting?))));
        let (name, id) = (optional("section")?, optional("id")?);
        Ok(Op::Add { kind: kind.to_owned(), name, id, options })
    }

    fn text(&self, field: &str) -> Result<&'a str, EditError> {
        let text = self.value.get(field).and_then(Value::as_str);
        text.ok_or_else(|| self.wrong(field, "is missing or not a string"))
    }

    fn name(&self, field: &str) -> Result<String, EditError> {
        let name = self.text(field)?;
        if !is_name(name) {
            return Err(self.wrong(field, "is not a name: letters, digits and _, at most 64"));
        }
        Ok(name.to_owned())
    }

    fn sections(&self) -> Result<Vec<String>, EditError> {
        let list = self.value.get("sections").and_then(Value::as_array);
        let list = list.ok_or_else(|| self.wrong("sections", "is missing or not a list"))?;
        let names: Vec<String> = list
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| is_name(name))
            .map(str::to_owned)
            .collect();
        let different = names.iter().collect::<std::collections::BTreeSet<_>>().len();
        if different != list.len() || different > MAX_ENTRIES {
            return Err(self.wrong("sections", "is not a list of different section names"));
        }
        Ok(names)
    }

    fn values(&self) -> Result<Values, EditError> {
        let empty = Map::new();
        let values = match self.value.get("values") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(values)) if values.len() <= MAX_ENTRIES => values,
            Some(_) => return Err(self.wrong("values", "is not an object of options")),
        };
        let mut read = Values::new();
        for (option, value) in values {
            if !is_name(option) {
                return Err(self.wrong(option, "cannot be the name of an option"));
            }
            // A form sends the mask of an unchanged secret back.
            let masks = |list: &Vec<Value>| !list.is_empty() && list.iter().all(|of| of == MASK);
            if value == MASK || value.as_array().is_some_and(masks) {
                continue;
            }
            read.insert(option.clone(), self.setting(option, value)?);
        }
        Ok(read)
    }

    fn setting(&self, option: &str, value: &Value) -> Result<Option<Setting>, EditError> {
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(on) => Ok(if *on { "1" } else { "0" }.to_owned()),
            _ => Err(self.wrong(option, "is neither a string nor a list of strings")),
        };
        let checked = |text: String| {
            if text.len() > MAX_VALUE_LEN {
                return Err(self.wrong(option, format!("is longer than {MAX_VALUE_LEN} bytes")));
            }
            // A masked URL or list entry would lose its secret.
            if has_mask(&text) && (value.is_array() || Undone::read(&text).is_none()) {
                let what = "has a mask where a password or code was; write that as well";
                return Err(self.wrong(option, what));
            }
            // C programs would truncate the value at a NUL.
            if text.contains('\0') {
                return Err(self.wrong(option, "has a NUL in it"));
            }
            Ok(text)
        };
        let setting = match value {
            Value::Null => return Ok(None),
            Value::Array(list) if list.len() > MAX_ENTRIES => {
                return Err(self.wrong(option, format!("has more than {MAX_ENTRIES} entries")));
            }
            Value::Array(list) => {
                let texts: Result<Vec<String>, EditError> =
                    list.iter().map(|entry| text(entry).and_then(checked)).collect();
                let texts = texts?.into_iter().filter(|text| !text.is_empty()).collect();
                Setting::List(texts)
            }
            other => Setting::Text(checked(text(other)?)?),
        };
        Ok(Some(setting).filter(|setting| setting.texts().iter().any(|text| !text.is_empty())))
    }
}

/// Returns whether a text is a valid name of a section or option.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Op {
    /// Identifies the edit within its list.
    fn place(&self) -> (bool, Option<&str>) {
        match self {
            Op::Add { name, id, .. } => (true, name.as_deref().or(id.as_deref())),
            Op::Set { section, .. } => (false, Some(section)),
            _ => (false, None),
        }
    }

    fn setting(&self, option: &str) -> Option<&Setting> {
        match self {
            Op::Add { options, .. } => options.get(option),
            Op::Set { values, .. } => values.get(option)?.as_ref(),
            _ => None,
        }
    }
}

/// A change that edits undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undone {
    pub(crate) id: u64,
    /// Undo all later changes, too.
    pub(crate) since: bool,
}

impl Undone {
    /// Returns the mask of a secret: the general mask, the id of the change, and `+` with `since`.
    pub(crate) fn mask(self) -> String {
        format!("{MASK}{}{}", self.id, if self.since { "+" } else { "" })
    }

    fn read(text: &str) -> Option<Self> {
        let number = text.strip_prefix(MASK)?;
        let (number, since) = number.strip_suffix('+').map_or((number, false), |id| (id, true));
        Some(Self { id: number.parse().ok()?, since })
    }
}

impl Edit {
    /// Returns the type of the edited section. Empty for an unknown section, so that all its values
    /// are masked.
    pub(crate) fn kind<'a>(&'a self, package: Option<&'a Package>) -> &'a str {
        let known = match &self.op {
            Op::Add { kind, .. } => Some(kind),
            Op::Set { section, .. } | Op::Delete { section } | Op::Rename { section, .. } => {
                package.and_then(|package| package.section(section)).map(|of| &of.kind)
            }
            Op::Order { .. } => None,
        };
        known.map_or("", |kind| kind)
    }

    /// Returns the undone change that a mask refers to.
    pub(crate) fn undone(&self) -> Option<Undone> {
        let number = |setting: &Setting| match setting {
            Setting::Text(text) => Undone::read(text),
            Setting::List(_) => None,
        };
        match &self.op {
            Op::Add { options, .. } => options.values().find_map(number),
            Op::Set { values, .. } => values.values().find_map(|setting| number(setting.as_ref()?)),
            _ => None,
        }
    }

    /// Replaces the masks of an undone change with secrets from `known`. Returns false if `known`
    /// lacks one.
    pub(crate) fn fill(&mut self, undone: Undone, known: &[Edit]) -> bool {
        let mask = Setting::Text(undone.mask());
        let same = |edit: &&Edit| edit.config == self.config && edit.op.place() == self.op.place();
        let source = known.iter().find(same).map(|edit| edit.op.clone());
        let from = |name: &String| source.as_ref()?.setting(name).cloned();
        match &mut self.op {
            Op::Add { options, .. } => options
                .iter_mut()
                .filter(|(_, of)| **of == mask)
                .all(|(name, of)| from(name).map(|secret| *of = secret).is_some()),
            Op::Set { values, .. } => values
                .iter_mut()
                .filter(|(_, of)| of.as_ref() == Some(&mask))
                .all(|(name, of)| from(name).map(|secret| *of = Some(secret)).is_some()),
            _ => true,
        }
    }

    /// Formats the edit for [`read_edits`]. `show` formats each value.
    #[must_use]
    pub fn value(&self, show: &dyn Fn(&str, &Setting) -> Value) -> Value {
        let config = &self.config;
        let shown = |option: &str, setting: &Option<Setting>| {
            setting.as_ref().map_or(Value::Null, |setting| show(option, setting))
        };
        match &self.op {
            Op::Add { kind, name, id, options } => {
                let values: Map =
                    options.iter().map(|(name, of)| (name.clone(), show(name, of))).collect();
                json!({"config": config, "op": "add", "type": kind, "section": name, "id": id,
                    "values": values})
            }
            Op::Set { section, values } => {
                let values: Map =
                    values.iter().map(|(name, of)| (name.clone(), shown(name, of))).collect();
                json!({"config": config, "op": "set", "section": section, "values": values})
            }
            Op::Delete { section } => json!({"config": config, "op": "delete", "section": section}),
            Op::Rename { section, name } => {
                json!({"config": config, "op": "rename", "section": section, "name": name})
            }
            Op::Order { sections } => {
                json!({"config": config, "op": "order", "sections": sections})
            }
        }
    }
}

#[cfg(test)]
mod tests;
