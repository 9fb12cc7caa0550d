// SPDX-License-Identifier: GPL-2.0-or-later
//! The form of a check's result: severities, code, evidence, parameters, gain, and the kinds of
//! fixes (a change of UCI, or steps).

pub(crate) use health::Severity;
use health::{Condition, Level};
use serde_json::{Map, Value, json};

use crate::facts::Unknown;

/// None: nothing is wrong. A finding. Or the fact that the check needed and could not read.
pub(crate) type Verdict = Result<Option<Finding>, Unknown>;

/// One finding of a check, without its texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Selects other texts than the check's; empty: the check's.
    pub case: &'static str,
    /// The values, and where they were read.
    pub evidence: Vec<Evidence>,
    /// Parameters of the texts.
    pub params: Map<String, Value>,
    /// Source of the figure of the expected gain.
    pub gain: Option<Gain>,
    /// The one-click fix.
    pub fix: Option<Fix>,
}

impl Finding {
    /// A finding without evidence yet.
    pub(crate) fn new(severity: Severity) -> Self {
        Self { severity, case: "", evidence: Vec::new(), params: Map::new(), gain: None, fix: None }
    }

    /// Of a fact that the daemon's `status.health` reports, too.
    #[must_use]
    pub(crate) fn of(condition: Condition) -> Self {
        let severity = match condition.level {
            Level::Notice => Severity::Info,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
        };
        Self { params: condition.params, ..Self::new(severity) }
    }

    /// Its code in the API, by which its texts are found: the check's `id`, or `id/CASE`.
    pub(crate) fn code(&self, id: &str) -> String {
        if self.case.is_empty() { id.to_owned() } else { format!("{id}/{}", self.case) }
    }

    /// With the texts of `case` where it has its own.
    pub(crate) fn case(mut self, case: &'static str) -> Self {
        self.case = case;
        self
    }

    /// The objects it is about, sorted: an acceptance names them.
    pub(crate) fn about(&self) -> Vec<String> {
        let mut about: Vec<String> = self.evidence.iter().filter_map(Evidence::object).collect();
        about.sort_unstable();
        about.dedup();
        about
    }

    /// None without evidence.
    pub(crate) fn if_seen(self) -> Option<Self> {
        Some(self).filter(|finding| !finding.evidence.is_empty())
    }

    /// With one more piece of evidence: its name in `what` of the texts, its object (may be
    /// empty), the value, and where it was read.
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

    /// The value of the last evidence is the text of a reason of this `kind`, for which the daemon
    /// reports `cause`: code and parameters.
    pub(crate) fn because(mut self, kind: &'static str, cause: &Value) -> Self {
        if let (Some(seen), Value::Object(cause)) = (self.evidence.last_mut(), cause) {
            let mut cause = cause.clone();
            cause.insert("kind".to_owned(), kind.into());
            seen.cause = Some(cause.into());
        }
        self
    }

    /// With the value of `{name}` in the texts.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// With an expected gain, whose figure is from `source`.
    pub(crate) fn gain(mut self, source: &'static str) -> Self {
        self.gain = Some(Gain { source });
        self
    }

    /// With a one-click fix.
    pub(crate) fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// A value, and where it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    /// Its name in `what` of the group's texts.
    pub what: &'static str,
    /// Its object, a port for example; empty: none.
    pub of: String,
    /// As it was read, with its unit.
    pub value: String,
    /// A path, a command or a method.
    pub source: String,
    /// Kind, code and parameters of the reason whose text is `value`.
    pub cause: Option<Value>,
}

/// Evidence whose value is part of its object: a VLAN, an open port, a destination, the value of an
/// option.
const NAMED_BY_VALUE: &[&str] =
    &["forwarding", "listener", "no-port", "option", "rule", "sessions"];

impl Evidence {
    /// Its object. A number alone is that of a process, a CPU or a queue: after the next boot it is
    /// another one.
    fn object(&self) -> Option<String> {
        let of = self.of.trim();
        if of.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let by_value = NAMED_BY_VALUE.contains(&self.what);
        let text = if by_value { format!("{of} {}", self.value) } else { of.to_owned() };
        Some(health::object(&text))
    }

    /// Parameters of its name.
    pub(crate) fn params(&self) -> Map<String, Value> {
        Map::from_iter([("of".to_owned(), self.of.clone().into())])
    }
}

/// The expected effect of the fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gain {
    /// Where it was measured.
    pub source: &'static str,
}

/// The one-click fix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fix {
    /// Edits of UCI, as `fastpath.change apply` takes them: rolled back without confirmation.
    Change(Vec<Value>),
    /// Steps that last until the next boot, or change no setting at all.
    Steps(Vec<Step>),
}

impl Fix {
    /// Sets options of a section; `null` removes one.
    pub(crate) fn set(config: &str, section: &str, values: &Value) -> Self {
        Self::Change(vec![set(config, section, values)])
    }

    /// Runs a program.
    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Steps(vec![Step::run(program, args)])
    }

    /// Writes into a file of `/proc/sys` or `/sys`.
    pub(crate) fn write(path: impl Into<String>, number: u64) -> Self {
        Self::Steps(vec![Step::Write { path: path.into(), text: number.to_string() }])
    }
}

/// One thing done outside of UCI.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Writes a text into a file of `/proc/sys` or `/sys`.
    Write {
        /// The file.
        path: String,
        /// The text written.
        text: String,
    },
    /// Runs a program.
    Run {
        /// Its name in `PATH`.
        program: &'static str,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Switches an offload of a port, as `ethtool -K` would.
    Feature {
        /// The port.
        device: String,
        /// The kernel's name of the offload, `rx-gro` for example.
        feature: &'static str,
        /// The new state.
        on: bool,
    },
    /// Calls a method on ubus.
    Call {
        /// The object.
        object: &'static str,
        /// The method.
        method: &'static str,
        /// Its arguments.
        args: Map<String, Value>,
    },
}

impl Step {
    /// Runs a program.
    pub(crate) fn run(program: &'static str, args: &[&str]) -> Self {
        Self::Run { program, args: args.iter().map(|&word| word.to_owned()).collect() }
    }
}

/// The edit that sets options of a section; `null` removes one.
pub(crate) fn set(config: &str, section: &str, values: &Value) -> Value {
    json!({"op": "set", "config": config, "section": section, "values": values})
}
