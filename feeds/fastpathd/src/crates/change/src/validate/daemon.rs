// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/fastpath` with `fastpathd --json --check FILE FILE`.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugin::process::{self, Limits, RunError};
use serde_json::Value;

use crate::draft::Draft;
use crate::problem::Problem;
use ::uci::text;
use ::uci::{Package, Section};

const PROGRAM: &str = "/usr/sbin/fastpathd";

/// Path of the daemon. `None` if it is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Daemon(pub(crate) Option<PathBuf>);

impl Daemon {
    pub(super) fn installed() -> Self {
        Self(Some(PathBuf::from(PROGRAM)).filter(|path| path.exists()))
    }

    /// Returns the problems that the draft adds.
    pub(super) fn judge(&self, draft: &Draft) -> Vec<Problem> {
        let Some(program) = &self.0 else { return Vec::new() };
        let Some(after) = draft.after.get("fastpath") else { return Vec::new() };
        let none = Package::default();
        let before = draft.before.get("fastpath").unwrap_or(&none);
        match verdicts(program, [before, after]) {
            Ok([known, mut found]) => {
                found.retain(|problem| !known.iter().any(|of| is_same(problem, of)));
                found
            }
            Err(error) => {
                let program = program.display();
                crate::log::say(&format!("{program} --check: {error}"));
                Vec::new()
            }
        }
    }
}

/// Compares problems without their texts, which contain the position of the section.
fn is_same(a: &Problem, b: &Problem) -> bool {
    (&a.section, &a.option, &a.params) == (&b.section, &b.option, &b.params)
}

#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("writing its input: {0}")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("its output is not a list of two results ({0})")]
    Answer(String),
}

fn verdicts(program: &Path, packages: [&Package; 2]) -> Result<[Vec<Problem>; 2], AskError> {
    let mut command = Command::new(program);
    let mut files = Vec::new();
    command.arg("--json").arg("--check");
    for (number, package) in packages.iter().enumerate() {
        let file = Sample::write(number, package)?;
        command.arg(&file.0);
        files.push(file);
    }
    let output = process::run(&mut command, b"", Limits::short(5))?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let verdict = |number: usize| {
        let list = answer.get(number)?.get("problems")?.as_array()?;
        list.iter().map(|problem| read(problem, packages[number])).collect::<Option<Vec<_>>>()
    };
    verdict(0).zip(verdict(1)).map(<[_; 2]>::from).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        AskError::Answer(process::ended(output.status, &said))
    })
}

/// A file for root only, removed on drop.
struct Sample(PathBuf);

impl Sample {
    fn write(number: usize, package: &Package) -> io::Result<Self> {
        let name = format!("fastpath.check.{}.{number}", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        let _ = std::fs::remove_file(&file.0);
        std::fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&file.0)?
            .write_all(text(package).as_bytes())?;
        Ok(file)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(problem: &Value, package: &Package) -> Option<Problem> {
    let field = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
    let called = field("section")?;
    Some(Problem {
        config: "fastpath".to_owned(),
        section: named(&called, package).map_or(called, |section| section.name.clone()),
        option: field("option")?,
        code: code(&field("code")?),
        params: problem.get("params")?.as_object()?.clone(),
        text: format!("fastpath, {}", field("text")?),
    })
}

/// Returns the code of a problem. `fastpathd` for an unknown code of another version.
fn code(name: &str) -> &'static str {
    config::Fault::CODES.into_iter().find(|code| *code == name).unwrap_or("fastpathd")
}

/// Returns the section with this name. The daemon reads the file again, which generates other names
/// for anonymous sections.
fn named<'a>(called: &str, package: &'a Package) -> Option<&'a Section> {
    let is = |(index, section): &(usize, &Section)| {
        if section.anonymous {
            ::uci::anonymous_name(index + 1, &section.kind) == called
        } else {
            section.name == called
        }
    };
    package.sections.iter().enumerate().find(is).map(|(_, section)| section)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_section_of_a_problem() {
        let packages = crate::sample::packages(&[(
            "fastpath",
            "config exclude\n\toption proto tcp\nconfig exclude\n\toption proto x\n",
        )]);
        let mut package = packages["fastpath"].clone();
        // The name that uci generates for the section.
        package.sections[1].name = "cfg0392bd".to_owned();
        let said = json!({"config": "fastpath", "section": "cfg0252cf", "option": "proto",
            "value": "x", "code": "protocol", "params": {"value": "x"},
            "text": "section '@exclude[1]', option 'proto', value 'x': is neither tcp nor udp"});
        let problem = read(&said, &package).unwrap();
        assert_eq!((problem.section.as_str(), problem.option.as_str()), ("cfg0392bd", "proto"));
        assert_eq!((problem.code, &problem.params["value"]), ("protocol", &json!("x")));
        assert_eq!(code("newer"), "fastpathd");
    }
}
