// SPDX-License-Identifier: GPL-2.0-or-later
//! The result of a check: severity, code, evidence, parameters, gain and fix.

pub(crate) use health::Severity;
use health::{Condition, Level};
use serde_json::{Map, Value, json};

use crate::facts::Unknown;

/// `None` if all is well, a finding, or the fact that the check could not read.
pub(crate) type Verdict = Result<Option<Finding>, Unknown>;

/// One finding of a check, without its texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub severity: Severity,
    /// Selects other texts than the check's own; empty for the check's own.
    pub case: &'static str,
    /// The values that the finding rests on.
    pub evidence: Vec<Evidence>,
    /// Parameters of the texts.
    pub params: Map<String, Value>,
    /// Source of the expected gain.
    pub gain: Option<Gain>,
    pub fix: Option<Fix>,
}

impl Finding {
    /// Creates a finding without evidence.
    pub(crate) fn new(severity: Severity) -> Self {
        Self { severity, case: "", evidence: Vec::new(), params: Map::new(), gain: None, fix: None }
    }

    /// Creates a finding for a condition that `status.health` reports, too.
    #[must_use]
    pub(crate) fn of(condition: Condition) -> Self {
        let severity = match condition.level {
            Level::Notice => Severity::Info,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
        };
        Self { params: condition.params, ..Self::new(severity) }
    }

    /// Returns the code in the API and key of the texts: the check's `id`, or `id/CASE`.
    pub(crate) fn code(&self, id: &str) -> String {
        if self.case.is_empty() { id.to_owned() } else { format!("{id}/{}", self.case) }
    }

    /// Selects the texts of `case`.
    pub(crate) fn case(mut self, case: &'static str) -> Self {
        self.case = case;
        self
    }

    /// Returns the objects of the finding, sorted, for acceptances.
    pub(crate) fn about(&self) -> Vec<String> {
        let mut about: Vec<String> = self.evidence.iter().filter_map(Evidence::object).collect();
        about.sort_unstable();
        about.dedup();
        about
    }

    /// Returns the finding, or `None` without evidence.
    pub(crate) fn if_seen(self) -> Option<Self> {
        Some(self).filter(|finding| !finding.evidence.is_empty())
    }

    /// Adds evidence: its name in `what` of the texts, its object (may be empty), the value, and
    /// its source.
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

    /// Adds the daemon's `cause` (code and parameters) of this `kind` to the last evidence, if its
    /// value is the text of that cause.
    pub(crate) fn because(mut self, kind: &'static str, cause: &Value) -> Self {
        if let (Some(seen), Value::Object(cause)) = (self.evidence.last_mut(), cause) {
            let mut cause = cause.clone();
            cause.insert("kind".to_owned(), kind.into());
            seen.cause = Some(cause.into());
        }
        self
    }

    /// Sets the value of `{name}` in the texts.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the source of the expected gain.
    pub(crate) fn gain(mut self, source: &'static str) -> Self {
        self.gain = Some(Gain { source });
        self
    }

    pub(crate) fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    /// Name in `what` of the group's texts.
    pub what: &'static str,
    /// Object of the value, such as a port; may be empty.
    pub of: String,
    /// The value with its unit.
    pub value: String,
    /// A path, a command or a method.
    pub source: String,
    /// Kind, code and parameters of the cause that `value` describes.
    pub cause: Option<Value>,
}

/// Evidence with a value that is part of its object: a VLAN, an open port, a destination, an
/// option.
const NAMED_BY_VALUE: &[&str] =
    &["forwarding", "listener", "no-port", "option", "rule", "sessions"];

impl Evidence {
    /// Returns the object; `None` for a bare number, since processes, CPUs and queues may have
    /// another number after the next boot.
    fn object(&self) -> Option<String> {
        let of = self.of.trim();
        if of.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let by_value = NAMED_BY_VALUE.contains(&self.what);
        let text = if by_value { format!("{of} {}", self.value) } else { of.to_owned() };
        Some(health::object(&text))
    }

    /// Returns the parameters of its name.
    pub(crate) fn params(&self) -> Map<String, Value> {
        Map::from_iter([("of".to_owned(), self.of.clone().into())])
    }
}

/// The expected effect of the fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gain {
    /// Source of the measurement.
    pub source: &'static str,
}

/// The one-click fix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fix {
    /// Edits for `fastpath.change apply`, which rolls back without a confirmation.
    Change(Vec<Value>),
    /// Steps that last until the next boot or change no setting.
    Steps(Vec<Step>),
}

impl Fix {
    /// Returns a fix that sets options of a section; `null` removes an option.
    pub(crate) fn set(config: &str, section: &str, values: &Value) -> Self {
        Self::Change(vec![set(config, section, values)])
    }

    /// Returns a fix that runs a program.
    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Steps(vec![Step::run(program, args)])
    }

    /// Returns a fix that writes to a file of `/proc/sys` or `/sys`.
    pub(crate) fn write(path: impl Into<String>, number: u64) -> Self {
        Self::Steps(vec![Step::Write { path: path.into(), text: number.to_string() }])
    }
}

/// An action outside of UCI.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Writes to a file of `/proc/sys` or `/sys`.
    Write {
        /// Path of an existing file.
        path: String,
        text: String,
    },
    /// Runs a program.
    Run {
        /// Name in `PATH`.
        program: &'static str,
        args: Vec<String>,
    },
    /// Switches an offload of a port like `ethtool -K`.
    Feature {
        device: String,
        /// The kernel's name of the offload, such as `rx-gro`.
        feature: &'static str,
        on: bool,
    },
    /// Calls a method on ubus.
    Call {
        /// Path of the object.
        object: &'static str,
        method: &'static str,
        args: Map<String, Value>,
    },
}

impl Step {
    /// Returns a step that runs a program.
    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Run { program, args: args.iter().map(|&word| word.to_owned()).collect() }
    }
}

/// Returns an edit that sets options of a section; `null` removes an option.
pub(crate) fn set(config: &str, section: &str, values: &Value) -> Value {
    json!({"op": "set", "config": config, "section": section, "values": values})
}
