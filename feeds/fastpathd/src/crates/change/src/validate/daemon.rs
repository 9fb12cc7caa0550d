// SPDX-License-Identifier: GPL-2.0-or-later
//! `/etc/config/fastpath` is judged by who reads it: `fastpathd --check FILE`.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugin::Map;
use plugin::process::{self, Limits, RunError};

use crate::draft::Draft;
use crate::package::Package;
use crate::problem::Problem;
use crate::write::text;

const PROGRAM: &str = "/usr/sbin/fastpathd";

/// The daemon's program; none where it is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Daemon(pub(crate) Option<PathBuf>);

impl Daemon {
    pub(super) fn installed() -> Self {
        Self(Some(PathBuf::from(PROGRAM)).filter(|path| path.exists()))
    }

    /// What it says of the file after the change and did not say before.
    pub(super) fn judge(&self, draft: &Draft) -> Vec<Problem> {
        let Some(program) = &self.0 else { return Vec::new() };
        let said = |package: Option<&Package>| {
            package.map(|package| lines(program, package)).unwrap_or_default()
        };
        let before = said(draft.before.get("fastpath"));
        let Some(package) = draft.after.get("fastpath") else { return Vec::new() };
        let after = lines(program, package).into_iter();
        after.filter(|line| !before.contains(line)).map(|line| problem(&line, package)).collect()
    }
}

/// Its words, a line each; none when the file is good or it cannot be asked.
fn lines(program: &Path, package: &Package) -> Vec<String> {
    let file = std::env::temp_dir().join(format!("fastpath.check.{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let written = std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut to| to.write_all(text(package).as_bytes()));
    let output = written.map_err(RunError::from).and_then(|()| {
        process::run(Command::new(program).arg("--check").arg(&file), b"", Limits::short(5))
    });
    let _ = std::fs::remove_file(&file);
    let output = match output {
        Ok(output) if output.status.success() => return Vec::new(),
        Ok(output) => output,
        Err(error) => {
            crate::log::say(&format!("{} --check could not be asked: {error}", program.display()));
            return Vec::new();
        }
    };
    let said = String::from_utf8_lossy(&output.stderr).replace(&file.display().to_string(), "");
    let said = said.lines().map(str::trim).filter(|line| line.starts_with("section '"));
    said.map(str::to_owned).collect()
}

/// `section '@exclude[0]', option 'proto', value 'x': is no protocol`.
fn problem(line: &str, package: &Package) -> Problem {
    let quoted = |word: &str| {
        let rest = line.split_once(&format!("{word} '"))?.1;
        Some(rest.split_once('\'')?.0.to_owned())
    };
    let called = quoted("section").unwrap_or_default();
    Problem {
        config: "fastpath".to_owned(),
        section: section(&called, package).unwrap_or(called),
        option: quoted("option").unwrap_or_default(),
        code: "fastpathd",
        params: Map::new(),
        text: format!("fastpath, {line}"),
    }
}

/// uci's name of `@exclude[0]`.
fn section(called: &str, package: &Package) -> Option<String> {
    let (kind, place) = called.strip_prefix('@')?.strip_suffix(']')?.split_once('[')?;
    let section = package.of(kind).nth(place.parse().ok()?)?;
    Some(section.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_find_their_section() {
        let packages = crate::sample::packages(&[(
            "fastpath",
            "config exclude\n\toption proto tcp\nconfig exclude\n\toption proto x\n",
        )]);
        let package = &packages["fastpath"];
        let line = "section '@exclude[1]', option 'proto', value 'x': is no protocol";
        let problem = problem(line, package);
        assert_eq!(problem.section, package.sections[1].name);
        assert_eq!((problem.option.as_str(), problem.code), ("proto", "fastpathd"));
    }
}
