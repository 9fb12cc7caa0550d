// SPDX-License-Identifier: GPL-2.0-or-later
//! The result of a check.

use health::{Condition, Level};
use serde_json::{Map, Value};

use crate::facts::Unknown;

/// Nothing wrong, a finding, or what the check needed and could not read.
pub type Verdict = Result<Option<Finding>, Unknown>;

/// How bad it is, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing found.
    Ok,
    /// No action needed.
    Info,
    /// The check could not run.
    Unknown,
    /// Could be improved.
    Advice,
    /// Slow or unsafe.
    Warning,
    /// Broken, or far slower than the router could be.
    Error,
}

impl Severity {
    /// Its name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Info => "info",
            Self::Unknown => "unknown",
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding of a check, without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
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
    #[must_use]
    pub fn new(severity: Severity) -> Self {
        Self { severity, case: "", evidence: Vec::new(), params: Map::new(), gain: None, fix: None }
    }

    /// Of a fact that the daemon's `status.health` reports, too.
    #[must_use]
    pub fn of(condition: Condition) -> Self {
        let severity = match condition.level {
            Level::Notice => Severity::Info,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
        };
        Self { params: condition.params, ..Self::new(severity) }
    }

    /// Its code in the API, by which its texts are found: the check's `id`, or `id/CASE`.
    #[must_use]
    pub fn code(&self, id: &str) -> String {
        if self.case.is_empty() { id.to_owned() } else { format!("{id}/{}", self.case) }
    }

    /// With the texts of `case` where it has its own.
    #[must_use]
    pub fn case(mut self, case: &'static str) -> Self {
        self.case = case;
        self
    }

    /// With one more piece of evidence: its name in `what` of the texts, its object (may be
    /// empty), the value, and where it was read.
    #[must_use]
    pub fn saw(
        mut self,
        what: &'static str,
        of: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        let (of, value, source) = (of.into(), value.into(), source.into());
        self.evidence.push(Evidence { what, of, value, source });
        self
    }

    /// With the value of `{name}` in the texts.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// With an expected gain, whose figure is from `source`.
    #[must_use]
    pub fn gain(mut self, source: &'static str) -> Self {
        self.gain = Some(Gain { source });
        self
    }

    /// With a one-click fix.
    #[must_use]
    pub fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// A value, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its name in `what` of the group's texts.
    pub what: &'static str,
    /// Its object, a port for example; empty: none.
    pub of: String,
    /// As it was read, with its unit.
    pub value: String,
    /// A path, a command or a method.
    pub source: String,
}

impl Evidence {
    /// Parameters of its name.
    #[must_use]
    pub fn params(&self) -> Map<String, Value> {
        Map::from_iter([("of".to_owned(), self.of.clone().into())])
    }
}

/// The expected effect of the fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gain {
    /// Where it was measured.
    pub source: &'static str,
}

/// The one-click fix.
#[derive(Debug, Clone, PartialEq)]
pub enum Fix {
    /// Edits of UCI, as `fastpath.change apply` takes them: rolled back without confirmation.
    Change(Vec<Value>),
    /// Steps that last until the next boot, or change no setting at all.
    Steps(Vec<Step>),
}

/// One thing done outside of UCI.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
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
