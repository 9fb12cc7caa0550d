// SPDX-License-Identifier: GPL-2.0-or-later
//! Access rights of a session: scope, object pattern, function pattern.

use std::collections::BTreeMap;

use serde_json::Value;
use ubus::Map;

use crate::pattern;

/// Rights by scope. Like in rpcd's lists, sorted by the fixed part of the object pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    scopes: BTreeMap<String, Vec<(String, String)>>,
}

fn fixed_part(pattern: &str) -> &str {
    pattern.split(['*', '?', '[']).next().unwrap_or_default()
}

impl Grants {
    pub fn grant(&mut self, scope: &str, object: &str, function: &str) {
        let rights = self.scopes.entry(scope.to_owned()).or_default();
        let right = (object.to_owned(), function.to_owned());
        if rights.contains(&right) {
            return;
        }
        let at = rights.partition_point(|(known, _)| fixed_part(known) <= fixed_part(object));
        rights.insert(at, right);
    }

    #[must_use]
    pub fn allow(&self, scope: &str, object: &str, function: &str) -> bool {
        let covers = |(known, called): &(String, String)| {
            pattern::matches(known, object) && pattern::matches(called, function)
        };
        self.scopes.get(scope).is_some_and(|rights| rights.iter().any(covers))
    }

    /// Returns `{scope: {object: [function, …]}}`.
    #[must_use]
    pub fn to_map(&self) -> Map {
        let mut map = Map::new();
        for (scope, rights) in &self.scopes {
            let mut objects = Map::new();
            for (object, function) in rights {
                let functions =
                    objects.entry(object.clone()).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(functions) = functions {
                    functions.push(function.clone().into());
                }
            }
            map.insert(scope.clone(), Value::Object(objects));
        }
        map
    }
}
