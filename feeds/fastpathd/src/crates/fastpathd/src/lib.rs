// SPDX-License-Identifier: GPL-2.0-or-later
//! The daemon of the gateway: plans the fast path, maintains the flow table and serves ubus. This
//! file has the command line.
// A wildcard arm would hide a variant that is added later.
#![cfg_attr(
    not(test),
    deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)
)]

#[cfg(feature = "bench")]
pub mod bench;
mod bus;
mod daemon;
mod export;
mod io;
mod run;
mod sys;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};

const USAGE: &str = "\
usage: fastpathd [OPTION…]

  --check FILE…      report problems of configuration files, and exit
  --json             with --check: print a JSON list with an object per file
  --ubus-socket PATH socket of ubusd (/var/run/ubus/ubus.sock)
  --config FILE      configuration, read only without ubus (/etc/config/fastpath)
  --leases FILE      DHCP leases, for host names (/tmp/dhcp.leases)
  --remove-queues    remove the queues of the WAN, and exit
  --verbose          more log lines
  --version
";

const USER: &str = "fastpath";

enum Command {
    Run { paths: io::Paths, verbose: bool },
    Check { files: Vec<PathBuf>, json: bool },
    RemoveQueues,
    Print(String),
}

#[cfg_attr(not(test), expect(clippy::wildcard_enum_match_arm, reason = "any other argument"))]
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut paths = io::Paths {
        socket: ubus::SOCKET.into(),
        config: "/etc/config/fastpath".into(),
        leases: "/tmp/dhcp.leases".into(),
        history: "/etc/fastpath/history".into(),
        run: "/var/run/fastpath".into(),
        commands: "/var/run/suricata/command.sock".into(),
        own_rules: "/usr/share/fastpath/rules/fastpath.rules".into(),
    };
    let mut verbose = false;
    let mut json = false;
    let mut files = Vec::new();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("check") => files.push(parser.value()?.into()),
            Long("json") => json = true,
            Value(file) if !files.is_empty() => files.push(file.into()),
            Long("ubus-socket") => paths.socket = parser.value()?.into(),
            Long("config") => paths.config = parser.value()?.into(),
            Long("leases") => paths.leases = parser.value()?.into(),
            Long("remove-queues") => return Ok(Command::RemoveQueues),
            Short('v') | Long("verbose") => verbose = true,
            Short('V') | Long("version") => {
                return Ok(Command::Print(format!("fastpathd {}\n", env!("CARGO_PKG_VERSION"))));
            }
            Short('h') | Long("help") => return Ok(Command::Print(USAGE.to_owned())),
            other => return Err(other.unexpected()),
        }
    }
    if files.is_empty() {
        Ok(Command::Run { paths, verbose })
    } else {
        Ok(Command::Check { files, json })
    }
}

#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse(args.into_iter().skip(1)) {
        Ok(Command::Run { paths, verbose }) => start(paths, verbose),
        Ok(Command::Check { files, json }) => check(&files, json),
        Ok(Command::RemoveQueues) => {
            sys::log::start(false);
            if run::latency::remove() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Ok(Command::Print(text)) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_error(&format!("fastpathd: {error}\n{USAGE}"));
            ExitCode::from(2)
        }
    }
}

/// Reports problems of configuration files. Fails if the daemon would ignore a file or section.
fn check(files: &[PathBuf], json: bool) -> ExitCode {
    let verdicts: Vec<_> = files.iter().map(|file| run::configuration::check(file)).collect();
    if json {
        print(&format!("{}\n", serde_json::to_string(&verdicts).unwrap_or_default()));
    } else {
        for verdict in &verdicts {
            for warning in &verdict.warnings {
                print_error(&format!("warning: {}\n", warning.text));
            }
            for problem in &verdict.problems {
                print_error(&format!("{}\n", problem.text));
            }
        }
    }
    if verdicts.iter().any(|verdict| !verdict.problems.is_empty()) {
        return ExitCode::FAILURE;
    }
    if !json {
        print("the configuration is good\n");
    }
    ExitCode::SUCCESS
}

fn start(paths: io::Paths, verbose: bool) -> ExitCode {
    sys::log::start(verbose);
    if let Err(error) = drop_root() {
        print_error(&format!(
            "fastpathd: runs as root and cannot become user {USER}: {error}. Install procd-ujail, \
             or the package fastpathd again.\n"
        ));
        return ExitCode::FAILURE;
    }
    if let Err(error) = launch::withhold_capabilities() {
        log::warn!("keeping capabilities from other programs: {error}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime
        .and_then(|runtime| tokio::task::LocalSet::new().block_on(&runtime, daemon::serve(paths)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&format!("fastpathd: starting: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Drops root privileges, because procd starts the daemon as root without ujail.
fn drop_root() -> std::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    launch::become_user(USER, &std::fs::read_to_string("/etc/passwd")?)
}

/// Prints to standard output. Ignores a closed pipe, for which `print!` would panic.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn print_error(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
