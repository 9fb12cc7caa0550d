// SPDX-License-Identifier: GPL-2.0-or-later
//! The result of a check: severity, code, evidence, parameters, gain and fix.

pub(crate) use health::Severity;
use health::{Condition, Level};
use serde_json::{Map, Value, json};

use crate::facts::Unknown;

/// Result of a check: a finding, `None` without a problem, or the reason why a fact is unknown.
pub(crate) type Verdict = Result<Option<Finding>, Unknown>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub severity: Severity,
    /// Variant of the texts. Empty for the check's default texts.
    pub case: &'static str,
    pub evidence: Vec<Evidence>,
    pub params: Map<String, Value>,
    pub gain: Option<Gain>,
    pub fix: Option<Fix>,
}

impl Finding {
    pub(crate) fn new(severity: Severity) -> Self {
        Self { severity, case: "", evidence: Vec::new(), params: Map::new(), gain: None, fix: None }
    }

    /// Creates a finding for a condition that `status.health` also reports.
    #[must_use]
    pub(crate) fn of(condition: Condition) -> Self {
        let severity = match condition.level {
            Level::Notice => Severity::Info,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
        };
        Self { params: condition.params, ..Self::new(severity) }
    }

    /// Returns the code in the API, which is also the key of the texts: `ID` or `ID/CASE`.
    pub(crate) fn code(&self, id: &str) -> String {
        if self.case.is_empty() { id.to_owned() } else { format!("{id}/{}", self.case) }
    }

    pub(crate) fn case(mut self, case: &'static str) -> Self {
        self.case = case;
        self
    }

    /// Returns the sorted objects of the finding, which acceptances refer to.
    pub(crate) fn about(&self) -> Vec<String> {
        let mut about: Vec<String> = self.evidence.iter().filter_map(Evidence::object).collect();
        config::sort::values(&mut about);
        about.dedup();
        about
    }

    pub(crate) fn if_seen(self) -> Option<Self> {
        Some(self).filter(|finding| !finding.evidence.is_empty())
    }

    /// Adds evidence: key in `what` of the texts, object, value and source.
    #[expect(clippy::needless_pass_by_value, reason = "references, numbers and texts just made")]
    pub(crate) fn saw(
        mut self,
        what: &'static str,
        of: impl ToString,
        value: impl ToString,
        source: impl ToString,
    ) -> Self {
        let (of, value, source) = (of.to_string(), value.to_string(), source.to_string());
        self.evidence.push(Evidence { what, of, value, source, cause: None });
        self
    }

    /// Adds the daemon's `cause` (code and parameters) to the last evidence.
    pub(crate) fn because(mut self, kind: &'static str, cause: &Value) -> Self {
        if let (Some(seen), Value::Object(cause)) = (self.evidence.last_mut(), cause) {
            let mut cause = cause.clone();
            cause.insert("kind".to_owned(), kind.into());
            seen.cause = Some(cause.into());
        }
        self
    }

    /// Sets the placeholder `{name}` of the texts.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn gain(mut self, source: &'static str) -> Self {
        self.gain = Some(Gain { source });
        self
    }

    pub(crate) fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    pub what: &'static str,
    /// Object of the value, such as a port. May be empty.
    pub of: String,
    /// The value with its unit.
    pub value: String,
    /// Path, command or method.
    pub source: String,
    /// Kind, code and parameters of the cause of `value`.
    pub cause: Option<Value>,
}

/// Evidence whose value is part of the object, such as a VLAN or an open port.
const NAMED_BY_VALUE: &[&str] =
    &["forwarding", "listener", "no-port", "option", "rule", "sessions"];

impl Evidence {
    /// Returns the object. `None` for a number, because numbers of processes and queues are not
    /// stable.
    fn object(&self) -> Option<String> {
        let of = self.of.trim();
        if of.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let by_value = NAMED_BY_VALUE.contains(&self.what);
        let text = if by_value { format!("{of} {}", self.value) } else { of.to_owned() };
        Some(health::object(&text))
    }

    pub(crate) fn params(&self) -> Map<String, Value> {
        Map::from_iter([("of".to_owned(), self.of.clone().into())])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gain {
    pub source: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fix {
    /// Edits for `fastpath.change apply`.
    Change(Vec<Value>),
    /// Steps that do not change the configuration.
    Steps(Vec<Step>),
}

impl Fix {
    /// Returns a fix that sets options of a section. `null` removes an option.
    pub(crate) fn set(config: &str, section: &str, values: &Value) -> Self {
        Self::Change(vec![set(config, section, values)])
    }

    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Steps(vec![Step::run(program, args)])
    }

    pub(crate) fn write(path: impl Into<String>, number: u64) -> Self {
        Self::Steps(vec![Step::Write { path: path.into(), text: number.to_string() }])
    }
}

/// An action outside of UCI.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Write {
        path: String,
        text: String,
    },
    Run {
        program: &'static str,
        args: Vec<String>,
    },
    /// Switches an offload of a port like `ethtool -K`.
    Feature {
        device: String,
        /// The kernel's name such as `rx-gro`.
        feature: &'static str,
        on: bool,
    },
    Call {
        object: &'static str,
        method: &'static str,
        args: Map<String, Value>,
    },
}

impl Step {
    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Run { program, args: args.iter().map(|&word| word.to_owned()).collect() }
    }
}

/// Returns an edit that sets options of a section. `null` removes an option.
pub(crate) fn set(config: &str, section: &str, values: &Value) -> Value {
    json!({"op": "set", "config": config, "section": section, "values": values})
}
