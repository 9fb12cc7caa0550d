// SPDX-License-Identifier: GPL-2.0-or-later

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use config::{Network, Package, parse_uci};
use ips::{Files, Overlay, Settings, Threads, arguments, render};

#[derive(Debug, Clone, Default)]
pub(crate) struct Case {
    pub(crate) settings: Settings,
    pub(crate) threads: Threads,
    pub(crate) always: bool,
    pub(crate) home: Vec<Network>,
    pub(crate) files: Files,
}

impl Case {
    pub(crate) fn overlay(&self) -> String {
        render(&Overlay {
            settings: &self.settings,
            threads: &self.threads,
            mark_mask: 0x6000_0000,
            any_always: self.always,
            home: &self.home,
            files: &self.files,
        })
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        arguments(&self.settings, &self.threads)
    }
}

pub(crate) fn settings(uci: &str) -> Result<Settings, String> {
    let values = parse_uci(uci).expect(uci);
    let mut package = Package::new(&values).expect(uci);
    let settings = Settings::read(&mut package);
    match package.finish() {
        Ok(warnings) if warnings.is_empty() => Ok(settings),
        Ok(warnings) => Err(format!("{warnings:?}")),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn threads(management: &[u32], workers: &[u32]) -> Threads {
    Threads {
        affinity: true,
        management: management.to_vec(),
        workers: workers.to_vec(),
        ..Threads::default()
    }
}

/// Returns the program to run as Suricata. Without one, prints the reason and returns `None`.
pub(crate) fn suricata() -> Option<OsString> {
    let program = std::env::var_os("FASTPATH_SURICATA");
    if program.is_none() {
        println!("skipped: FASTPATH_SURICATA does not name a Suricata 8 to run");
    }
    program
}

/// Creates a folder for one test below /tmp, where Suricata can read it.
pub(crate) fn folder(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(format!("/tmp/ips-{name}-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder below /tmp");
    folder
}

/// Sets the paths of a run in this folder. Copies the package's rules to it, because Suricata may
/// not be able to read other folders.
pub(crate) fn installed(case: &mut Case, folder: &std::path::Path) {
    let copy = |name: &str| {
        let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../files");
        std::fs::copy(files.join(name), folder.join(name)).expect("the rules of the package");
        folder.join(name)
    };
    case.files.handshake = copy("handshake.rules");
    case.files.encrypted = copy("encrypted.rules");
    case.files.rules = vec![folder.join("our.rules")];
    case.files.events = folder.join("eve.sock");
    case.files.commands = folder.join("command.sock");
}

/// Runs Suricata with the overlay in `folder` and further arguments.
pub(crate) fn run(program: &OsString, folder: &std::path::Path, more: &[String]) -> Output {
    Command::new(program)
        .args(["-c", "/etc/suricata/suricata.yaml", "--include"])
        .arg(folder.join("overlay.yaml"))
        .arg("-l")
        .arg(folder)
        .args(more)
        .output()
        .expect("Suricata runs")
}
