// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the stand-in on temporary files, or connects to a prepared OpenWrt.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Hashes of the passwords `fastpath` and `look`, by `openssl passwd -6` and `-5`.
const ROOT: &str = concat!(
    "$6$standin$6Ai/Vpf2U2ORxj/VQZCQcZQY5kO0Lt2NN",
    "IFGCr1pEEFYLClPGwX9GH2lFDGEBkCWIzHtyOLZthluP6eWm0Iof."
);
const VIEWER: &str = "$5$standin$N1gRK7tJCasTVcN7JiVwJ38lQkqvRNgObbf1DGWb9DB";

const LOGINS: &str = "
config login
\toption username 'root'
\toption password '$p$root'
\tlist read '*'
\tlist write '*'

config login
\toption username 'viewer'
\toption password '$p$viewer'
\tlist read 'luci-app-fastpath'
";

const FASTPATH: &str = r#"
config fastpath 'main'
	option enabled '1'
	option engine 'flowtable'
	list device 'lan1'
	list device 'wan'

config rule
	option name 'first'
	option note 'it'\''s "quoted"'

config rule
	option name 'second'
"#;

const GROUP: &str = r#"{"luci-app-fastpath": {
  "description": "Rights for the recordings",
  "read": {
    "ubus": {
      "fastpath.demo": ["echo", "empty", ":subscribe"],
      "session": ["access", "destroy"],
      "uci": ["get"]
    },
    "uci": ["fastpath"]
  },
  "write": {
    "ubus": {
      "fastpath.demo": ["fail", "quit"],
      "uci": ["set", "add", "delete", "apply", "confirm", "rollback", "changes", "revert", "commit"]
    },
    "uci": ["fastpath"]
  }
}}"#;

const UNAUTHENTICATED: &str =
    r#"{"unauthenticated": {"read": {"ubus": {"session": ["access", "login"]}}}}"#;

pub(crate) struct Router {
    /// `host:port` of the web server.
    pub(crate) address: String,
    pub(crate) socket: PathBuf,
    /// Folder of the stand-in's files; `None` for a real OpenWrt.
    pub(crate) folder: Option<PathBuf>,
    options: Vec<String>,
    child: Option<Child>,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

pub(crate) fn temp_path(name: &str) -> PathBuf {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("{name}-{}-{number}", std::process::id()))
}

impl Router {
    /// Connects to the router at `CONTRACT_ADDRESS` (`host:port`) and `CONTRACT_UBUS_SOCKET`, which
    /// must have the logins, access groups and `/etc/config/fastpath` above. Starts a stand-in if
    /// unset.
    pub(crate) fn from_environment() -> Router {
        let variable = |name| std::env::var(name).ok();
        match (variable("CONTRACT_ADDRESS"), variable("CONTRACT_UBUS_SOCKET")) {
            (Some(address), Some(socket)) => Router {
                address,
                socket: socket.into(),
                folder: None,
                options: Vec::new(),
                child: None,
            },
            _ => Router::start(),
        }
    }

    pub(crate) fn start() -> Router {
        Router::with(&[])
    }

    pub(crate) fn with(options: &[&str]) -> Router {
        let folder = temp_path("standin");
        let shadow = |user: &str, hash: &str| format!("{user}:{hash}:0:0:99999:7:::\n");
        write(&folder, "shadow", &(shadow("root", ROOT) + &shadow("viewer", VIEWER)));
        write(&folder, "config/rpcd", LOGINS);
        write(&folder, "config/fastpath", FASTPATH);
        write(&folder, "acl.d/fastpath.json", GROUP);
        write(&folder, "acl.d/unauthenticated.json", UNAUTHENTICATED);
        write(&folder, "www/index.html", "<!doctype html><title>x</title>\n");
        for (program, into) in [("reload", "reloaded"), ("event", "happened")] {
            let script = format!("#!/bin/sh\necho \"$1\" >>{}\n", folder.join(into).display());
            write(&folder, program, &script);
            std::fs::set_permissions(folder.join(program), Permissions::from_mode(0o755)).unwrap();
        }
        let mut router = Router {
            address: String::new(),
            socket: folder.join("ubus.sock"),
            folder: Some(folder),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            child: None,
        };
        router.run();
        router
    }

    /// Starts the program on the folder and waits until it is ready.
    pub(crate) fn run(&mut self) {
        let folder = self.folder.clone().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fastpath-standin"));
        command.arg("--ubus-socket").arg(&self.socket).args(["--listen", "127.0.0.1:0"]);
        for (option, path) in [
            ("--www", "www"),
            ("--shadow", "shadow"),
            ("--acl", "acl.d"),
            ("--ubus-acl", "ubus-acl.d"),
            ("--config", "config"),
            ("--run", "run"),
            ("--staged", "staged"),
            ("--reload-command", "reload"),
            ("--plugins", "plugins"),
            ("--down-folder", "down"),
            ("--event-command", "event"),
        ] {
            command.arg(option).arg(folder.join(path));
        }
        command.args(&self.options);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        self.child = Some(child);
        // Log messages may precede and follow the ready line.
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let ready = |line: String| Some(line.strip_prefix("ready http://")?.to_owned());
        let address = lines.find_map(ready).expect("the stand-in is ready");
        address.trim_end_matches('/').clone_into(&mut self.address);
        std::thread::spawn(move || lines.for_each(drop));
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Terminates the program. Returns true for exit status 0.
    pub(crate) fn stop(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return true };
        let id = child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        child.wait().unwrap().success()
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
