// SPDX-License-Identifier: GPL-2.0-or-later
//! Packages, sections and options, and their conversion from and to the JSON of `uci get`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Parses a boolean value in any of UCI's spellings.
#[must_use]
pub fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "on" | "true" | "yes" | "enabled" => Some(true),
        "0" | "off" | "false" | "no" | "disabled" => Some(false),
        _ => None,
    }
}

/// Value of an option. UCI treats an empty text like a missing option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    Text(String),
    List(Vec<String>),
}

pub type Options = BTreeMap<String, Setting>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Name of the section. libuci names an anonymous section `cfg…` by its position and type.
    #[serde(rename = "section")]
    pub name: String,
    pub anonymous: bool,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(rename = "values")]
    pub options: Options,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    pub sections: Vec<Section>,
}

pub type Packages = BTreeMap<String, Package>;

impl Setting {
    /// Converts a string or a list of strings. `None` if the value is empty or has another type.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(Setting::Text(text.clone())),
            Value::Array(list) => {
                let texts: Vec<String> =
                    list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                Some(Setting::List(texts)).filter(|setting| !setting.words().is_empty())
            }
            _ => None,
        }
    }

    /// Returns the entries of a list, or the single text of an option.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        match self {
            Setting::Text(text) => std::slice::from_ref(text),
            Setting::List(list) => list,
        }
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        match self {
            Setting::Text(text) => vec![text],
            Setting::List(list) => list,
        }
    }

    /// Returns the entries of a list, or the words of a text, which `OpenWrt` treats alike.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        match self {
            Setting::Text(text) => text.split_whitespace().collect(),
            Setting::List(list) => list.iter().map(String::as_str).collect(),
        }
    }
}

impl Section {
    /// Returns the text of an option or the only entry of a list. `None` for a longer list.
    #[must_use]
    pub fn text(&self, option: &str) -> Option<&str> {
        match self.options.get(option)?.texts() {
            [text] => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn words(&self, option: &str) -> Vec<&str> {
        self.options.get(option).map(Setting::words).unwrap_or_default()
    }

    /// Returns a boolean option. `default` if the option is missing or not a boolean.
    #[must_use]
    pub fn is_on(&self, option: &str, default: bool) -> bool {
        self.text(option).map_or(default, |text| switch(text).unwrap_or(default))
    }
}

fn options(values: &Map<String, Value>) -> Options {
    let mut options = Options::new();
    for (name, value) in values.iter().filter(|(name, _)| !name.starts_with('.')) {
        if let Some(setting) = Setting::read(value) {
            options.insert(name.clone(), setting);
        }
    }
    options
}

impl Package {
    /// Converts the `values` of `uci get`. Ignores fields that are not sections.
    #[must_use]
    pub fn read(values: &Map<String, Value>) -> Self {
        let mut found: Vec<(u64, Section)> = Vec::new();
        for (name, value) in values {
            let Some(fields) = value.as_object() else { continue };
            let Some(kind) = fields.get(".type").and_then(Value::as_str) else { continue };
            let section = Section {
                name: name.clone(),
                anonymous: fields.get(".anonymous").and_then(Value::as_bool).unwrap_or(false),
                kind: kind.to_owned(),
                options: options(fields),
            };
            let index = fields.get(".index").and_then(Value::as_u64).unwrap_or(u64::MAX);
            found.push((index, section));
        }
        found.sort_by_key(|(index, _)| *index);
        Self { sections: found.into_iter().map(|(_, section)| section).collect() }
    }

    /// Returns the sections by name in the form of `uci get`.
    #[must_use]
    pub fn values(&self) -> Value {
        let section = |(index, section): (usize, &Section)| {
            let options = section.options.iter();
            let mut values: Map<String, Value> =
                options.map(|(name, setting)| (name.clone(), json!(setting))).collect();
            values.insert(".anonymous".to_owned(), json!(section.anonymous));
            values.insert(".type".to_owned(), json!(section.kind));
            values.insert(".name".to_owned(), json!(section.name));
            values.insert(".index".to_owned(), json!(index));
            (section.name.clone(), Value::Object(values))
        };
        self.sections.iter().enumerate().map(section).collect::<Map<String, Value>>().into()
    }

    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Section> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }

    #[must_use]
    pub fn find<'a>(&'a self, kind: &'a str, option: &str, value: &str) -> Option<&'a Section> {
        self.of(kind).find(|section| section.text(option) == Some(value))
    }

    /// Returns whether both packages have the same configuration. Ignores generated names.
    #[must_use]
    pub fn says(&self, other: &Package) -> bool {
        let same = |(a, b): (&Section, &Section)| {
            a.kind == b.kind
                && a.anonymous == b.anonymous
                && (a.anonymous || a.name == b.name)
                && a.options == b.options
        };
        self.sections.len() == other.sections.len()
            && self.sections.iter().zip(&other.sections).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_sorted_by_index() {
        let values = json!({
            "wan": {".type": "interface", ".name": "wan", ".anonymous": false, ".index": 1,
                "proto": "pppoe", "dns": ["1.1.1.1", "9.9.9.9"], "empty": ""},
            "cfg01": {".type": "device", ".anonymous": true, ".index": 0},
            "stray": 7,
        });
        let package = Package::read(values.as_object().unwrap());
        let names: Vec<&str> = package.sections.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["cfg01", "wan"]);
        let wan = package.section("wan").unwrap();
        assert_eq!(wan.words("dns"), ["1.1.1.1", "9.9.9.9"]);
        assert_eq!(wan.text("dns"), None);
        assert!(!wan.options.contains_key("empty"));
        assert_eq!(serde_json::from_value::<Section>(json!(wan)).as_ref().ok(), Some(wan));
    }

    #[test]
    fn generated_names_do_not_count_as_a_difference() {
        let section = |name: &str, anonymous| Section {
            name: name.into(),
            anonymous,
            kind: "rule".into(),
            options: Options::new(),
        };
        let package = |section| Package { sections: vec![section] };
        assert!(package(section("cfg01", true)).says(&package(section("cfg02", true))));
        assert!(!package(section("a", false)).says(&package(section("b", false))));
        assert!(!package(section("a", false)).says(&package(section("a", true))));
        assert!(!package(section("a", false)).says(&Package::default()));
    }
}
