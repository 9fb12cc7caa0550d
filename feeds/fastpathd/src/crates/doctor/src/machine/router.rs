// SPDX-License-Identifier: GPL-2.0-or-later
//! The real router.
#![expect(unsafe_code, reason = "the umask is set between fork and exec, the priority by libc")]

use std::cell::OnceCell;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plugin::process::{self, Limits};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;
use ubus::{Connection, Handle};

use super::{Echo, Ethtool, Machine, echo, ports, secret};

/// Timeout of a call. A change of several bridges may take more than 15 s. rpcd kills this program
/// after 30 s.
const TIMEOUT: Duration = Duration::from_secs(25);

/// Limits of programs. The output limit allows for a large rule set as JSON.
const LIMITS: Limits = Limits { time: Limits::TIMEOUT, output: 16 << 20, resources: true };
/// Folder of init scripts, whose services must not inherit limits.
const SERVICES: &str = "/etc/init.d/";

pub(crate) struct Router {
    socket: PathBuf,
    bus: OnceCell<Result<Bus, String>>,
}

struct Bus {
    runtime: Runtime,
    handle: Handle,
    /// Keeps the socket open.
    _connection: Connection,
}

impl Router {
    pub(crate) fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), bus: OnceCell::new() }
    }

    fn connect(&self) -> Result<Bus, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("starting: {error}"))?;
        let opened = runtime.block_on(Connection::open(&self.socket));
        let connection = opened.map_err(|error| error.to_string())?;
        Ok(Bus { runtime, handle: connection.handle(), _connection: connection })
    }
}

/// Sets the lowest priority of this thread and of the programs that it starts. The kernel derives
/// the disk priority from the CPU priority.
pub(crate) fn lower_priority() {
    const LOWEST: i32 = 19;
    // SAFETY: setpriority takes only numbers; 0 is the calling thread. Errors are harmless.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
}

impl Machine for Router {
    fn read(&self, path: &str) -> io::Result<String> {
        // Names of processes and files may not be UTF-8.
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        config::sort::values(&mut names);
        Ok(names)
    }

    fn link(&self, path: &str) -> io::Result<String> {
        std::fs::read_link(path).map(|target| target.to_string_lossy().into_owned())
    }

    fn mode(&self, path: &str) -> io::Result<u32> {
        use std::os::unix::fs::MetadataExt;
        std::fs::symlink_metadata(path).map(|metadata| metadata.mode())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        use std::io::Write;
        // Do not create a missing file, which means that the kernel lacks the setting.
        std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    }

    fn keep(&self, path: &str, text: &str) -> io::Result<()> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        // The lock in `turn.rs` allows only one writer.
        let new = format!("{path}.new");
        let mut options = std::fs::OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        options.open(&new)?.write_all(text.as_bytes())?;
        std::fs::rename(&new, path)
    }

    fn run(&self, program: &'static str, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        // rpcd has the umask 077, but other users must be able to read files of init scripts.
        // SAFETY: umask is async-signal-safe, so it may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::umask(0o022);
                Ok(())
            });
        }
        let limits = Limits { resources: !program.starts_with(SERVICES), ..LIMITS };
        let output = process::run(command.args(args), b"", limits)
            .map_err(|error| format!("running {program}: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or_default();
        let end =
            process::killed(output.status).unwrap_or_else(|| format!("{}: {said}", output.status));
        Err(format!("{program} {}: {end}", args.join(" ")))
    }

    fn call(
        &self,
        object: &str,
        method: &str,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let bus = self.bus.get_or_init(|| self.connect()).as_ref().map_err(Clone::clone)?;
        let answer = bus.handle.call(object, method, args, TIMEOUT);
        bus.runtime.block_on(answer).map_err(|error| error.to_string())
    }

    fn ethtool(&self, device: &str) -> Result<Ethtool, String> {
        ports::read(device).map_err(|error| error.to_string())
    }

    fn set_feature(&self, device: &str, feature: &str, on: bool) -> Result<(), String> {
        ports::set_feature(device, feature, on).map_err(|error| error.to_string())
    }

    fn crypt(&self, word: &str, setting: &str) -> Option<String> {
        secret::crypt(word, setting)
    }

    fn echo(&self, target: Ipv4Addr, size: u16) -> Result<Echo, String> {
        echo::echo(target, size).map_err(|error| error.to_string())
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn now_ms(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}
