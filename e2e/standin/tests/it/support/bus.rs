// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's objects on a bus, of the stand-in or of the real programs in the folder
//! `CONTRACT_OPENWRT` (`sbin/ubusd`, `sbin/rpcd`, plug-ins in `libexec/rpcd`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ubus::{Connection, Entry, Status};

use super::router::{self, Router};

pub(crate) const LIMIT: Duration = Duration::from_secs(2);

pub(crate) struct Bus {
    socket: PathBuf,
    pub(crate) plugins: PathBuf,
    /// Process that reloads plug-ins on SIGHUP.
    server: u32,
    children: Vec<Child>,
    router: Option<Router>,
    installed: Vec<PathBuf>,
}

impl Bus {
    pub(crate) fn start(program: &str, plugins: &[(&str, &str)]) -> Bus {
        let real = std::env::var_os("CONTRACT_OPENWRT").map(PathBuf::from);
        let folder = router::temp_path("plugins");
        let mut bus = Bus {
            socket: folder.join("ubus.sock"),
            plugins: real.as_ref().map_or_else(|| folder.join("rpcd"), |r| r.join("libexec/rpcd")),
            server: 0,
            children: Vec::new(),
            router: None,
            installed: vec![folder.clone()],
        };
        std::fs::create_dir_all(&folder).unwrap();
        for (name, list) in plugins {
            bus.install(program, name, list);
        }
        match real {
            Some(prefix) => bus.run_real(&prefix),
            None => bus.run_standin(),
        }
        bus
    }

    fn run_standin(&mut self) {
        let limit = LIMIT.as_secs().to_string();
        let plugins = self.plugins.to_str().unwrap().to_owned();
        let router = Router::with(&["--plugins", &plugins, "--exec-timeout", &limit]);
        self.socket.clone_from(&router.socket);
        self.server = router.process();
        self.router = Some(router);
    }

    fn run_real(&mut self, prefix: &Path) {
        let socket = self.socket.to_str().unwrap().to_owned();
        let limit = LIMIT.as_secs().to_string();
        let start = |program: &str, args: &[&str]| {
            let program = prefix.join("sbin").join(program);
            Command::new(program).args(args).stdin(Stdio::null()).spawn().unwrap()
        };
        self.children.push(start("ubusd", &["-s", &socket]));
        within(|| self.socket.exists());
        self.children.push(start("rpcd", &["-s", &socket, "-t", &limit]));
        self.server = self.children[1].id();
        // rpcd publishes its own objects first; allow some time for the plug-ins.
        within(|| !self.list("file").is_empty());
        std::thread::sleep(Duration::from_millis(300));
    }

    pub(crate) fn install(&mut self, program: &str, name: &str, list: &str) {
        let path = self.plugins.join(name);
        std::fs::create_dir_all(&self.plugins).unwrap();
        for (path, text, mode) in [
            (path.with_file_name(format!("{name}.list")), list, 0o644),
            (path.with_file_name(format!("{name}.print")), "", 0o644),
            (path, program, 0o755),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            self.installed.push(path);
        }
    }

    pub(crate) fn reload(&self) {
        Command::new("kill").args(["-HUP", &self.server.to_string()]).status().unwrap();
    }

    fn ask<T>(&self, work: impl AsyncFnOnce(ubus::Handle) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = Connection::open(&self.socket).await.unwrap();
            let bus = connection.handle();
            tokio::select! {
                answer = work(bus) => answer,
                () = async { while connection.next().await.is_ok() {} } => panic!("no bus"),
            }
        })
    }

    pub(crate) fn list(&self, path: &str) -> Vec<Entry> {
        self.ask(async |bus| bus.list(path).await.unwrap_or_default())
    }

    pub(crate) fn call(&self, object: &str, method: &str, args: &Value) -> Result<Value, Status> {
        let args = args.as_object().unwrap();
        let wait = Duration::from_secs(60);
        let answer = self.ask(async |bus| bus.call(object, method, args, wait).await);
        answer.map(Value::Object).map_err(|error| error.status())
    }

    /// Returns the answer to a call for which the plug-in prints `text`.
    pub(crate) fn printed(&self, text: &str) -> Result<Value, Status> {
        std::fs::write(self.plugins.join("test.plug.print"), text).unwrap();
        self.call("test.plug", "print", &json!({}))
    }

    pub(crate) fn killed(&self) -> bool {
        let id = std::fs::read_to_string(self.plugins.join("test.plug.pid")).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for left in ["test.plug.pid", "test.plug.print.go"] {
            let _ = std::fs::remove_file(self.plugins.join(left));
        }
        for path in self.installed.iter().rev() {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}

pub(crate) fn within(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out");
        std::thread::sleep(Duration::from_millis(20));
    }
}
