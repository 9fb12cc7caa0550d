// SPDX-License-Identifier: GPL-2.0-or-later
//! What fw4 would make of a change is tried on the kernel before: `fw4 check`, which applies
//! nothing.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plugin::Map;

use crate::draft::Draft;
use crate::package::Packages;
use crate::problem::Problem;
use crate::write::text;

const PROGRAM: &str = "/sbin/fw4";
/// What fw4 reads; the program cannot be told of another folder.
const CONFIG: &str = "/etc/config";
/// Lines of its complaint that are told.
const MOST_LINES: usize = 3;

/// fw4's program; none where it is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewall(pub(crate) Option<PathBuf>);

impl Firewall {
    pub(super) fn installed() -> Self {
        Self(Some(PathBuf::from(PROGRAM)).filter(|path| path.exists()))
    }

    /// What it says of the files after the change, if it has no complaint about those before.
    pub(super) fn judge(&self, draft: &Draft) -> Option<Problem> {
        let program = self.0.as_ref()?;
        let touched = draft.touched();
        if !touched.iter().any(|config| matches!(*config, "firewall" | "network")) {
            return None;
        }
        let words = complaint(program, &draft.after)?;
        if complaint(program, &draft.before).is_some() {
            return None;
        }
        Some(Problem {
            config: "firewall".to_owned(),
            section: String::new(),
            option: String::new(),
            code: "fw4",
            params: Map::new(),
            text: format!("firewall: fw4 would not take it: {words}"),
        })
    }
}

/// Its words about these packages; none when it takes them or cannot be asked.
fn complaint(program: &Path, packages: &Packages) -> Option<String> {
    let folder = Folder::with(packages).ok()?;
    let mut command = Command::new(program);
    command.arg("check").stdin(Stdio::null());
    over_config(&mut command, &folder.0).ok()?;
    let output = command.output().ok().filter(|output| !output.status.success())?;
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(MOST_LINES);
    Some(lines[last..].join(" ").chars().filter(|c| !c.is_control()).collect())
}

/// A copy of the configuration with other packages in it; gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn with(packages: &Packages) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("fastpath.fw4.{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        for entry in fs::read_dir(CONFIG)?.flatten() {
            fs::copy(entry.path(), folder.0.join(entry.file_name()))?;
        }
        for (name, package) in packages {
            fs::write(folder.0.join(name), text(package))?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has the command see the folder as `/etc/config`, in mounts of its own that end with it.
fn over_config(command: &mut Command, folder: &Path) -> io::Result<()> {
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    let config = CString::new(CONFIG)?;
    let done = |status: i32| if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    let isolate = move || {
        let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
        // SAFETY: system calls on texts that live as long as this closure; nothing is allocated.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            done(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
            done(libc::mount(folder.as_ptr(), config.as_ptr(), none, libc::MS_BIND, none.cast()))
        }
    };
    // SAFETY: between fork and exec it makes three system calls and touches no lock.
    unsafe { command.pre_exec(isolate) };
    Ok(())
}
