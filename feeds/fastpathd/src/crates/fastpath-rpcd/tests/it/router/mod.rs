// SPDX-License-Identifier: GPL-2.0-or-later
//! A fake router in a folder, with fake objects `session` and `uci` of rpcd. Files may have only
//! named sections and plain options.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use plugin::{Map, SESSION, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::bus;

pub(crate) struct Router {
    root: PathBuf,
    rpcd: Arc<Mutex<Rpcd>>,
}

#[derive(Default)]
struct Rpcd {
    config: PathBuf,
    /// Files that each user may write. The session id is the user's name.
    users: BTreeMap<String, Vec<String>>,
    staged: BTreeMap<String, BTreeMap<(String, String), Map>>,
    /// Session of the pending apply, and the previous contents of its files.
    applied: Option<(String, BTreeMap<String, Vec<u8>>)>,
    /// Packages in the events that procd received.
    reloaded: Vec<String>,
    status: Option<Map>,
    created: usize,
}

/// Session id of a shell's staged changes, which rpcd uses for a call without a session.
const SHELL: &str = "";

impl Router {
    /// Creates a router. `users` lists the files that each user may write.
    pub(crate) fn new(name: &str, users: &[(&str, &[&str])]) -> Self {
        let root = std::env::temp_dir().join(format!("rpcd-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("etc/config")).unwrap();
        let files = |files: &&[&str]| files.iter().map(|&file| file.to_owned()).collect();
        let users = users.iter().map(|(user, of)| ((*user).to_owned(), files(of))).collect();
        let rpcd = Rpcd { config: root.join("etc/config"), users, ..Rpcd::default() };
        let rpcd = Arc::new(Mutex::new(rpcd));
        let serving = rpcd.clone();
        let answer = move |object: &str, method: &str, args: &Map| {
            serving.lock().unwrap().answer(object, method, args)
        };
        bus::serve(&root.join("bus"), Box::new(answer));
        Self { root, rpcd }
    }

    pub(crate) fn with(self, config: &str, text: &str) -> Self {
        std::fs::write(self.root.join("etc/config").join(config), text).unwrap();
        self
    }

    pub(crate) fn path(&self, config: &str) -> std::path::PathBuf {
        self.root.join("etc/config").join(config)
    }

    pub(crate) fn file(&self, config: &str) -> String {
        std::fs::read_to_string(self.path(config)).unwrap()
    }

    /// Calls a method of `fastpath.change` in the session of a web user.
    pub(crate) fn call(&self, user: &str, method: &str, mut args: Value) -> Value {
        args[SESSION] = json!(user);
        self.ask("fastpath.change", method, &args)
    }

    /// Calls a method of `fastpath.device` in the session of a web user.
    pub(crate) fn device(&self, user: &str, method: &str, mut args: Value) -> Value {
        args[SESSION] = json!(user);
        self.ask("fastpath.device", method, &args)
    }

    pub(crate) fn config(&self, config: &str) -> Value {
        self.ask("fastpath.config", "get", &json!({"config": config}))
    }

    fn ask(&self, object: &str, method: &str, args: &Value) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_fastpath-rpcd"))
            .args([object, "call", method, &args.to_string()])
            .env("UBUS_SOCKET", self.root.join("bus"))
            .env("FASTPATH_ROOT", &self.root)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    pub(crate) fn daemon(&self, status: &Value) {
        self.rpcd().status = status.as_object().cloned();
    }

    /// Stages values, as `uci set` does without a commit.
    pub(crate) fn stage_in_a_shell(&self, config: &str, section: &str, values: &Value) {
        let values = values.as_object().cloned().unwrap_or_default();
        let place = (config.to_owned(), section.to_owned());
        self.rpcd().staged.entry(SHELL.to_owned()).or_default().insert(place, values);
    }

    /// Has rpcd wait for the confirmation of another client's change of this file.
    pub(crate) fn apply_elsewhere(&self, config: &str) {
        let old = std::fs::read(self.path(config)).unwrap();
        let files = BTreeMap::from([(config.to_owned(), old)]);
        self.rpcd().applied = Some(("elsewhere".to_owned(), files));
    }

    pub(crate) fn sessions(&self) -> usize {
        self.rpcd().staged.keys().filter(|session| *session != SHELL).count()
    }

    pub(crate) fn restart_rpcd(&self) {
        self.rpcd().applied = None;
    }

    pub(crate) fn expire(&self) {
        let path = self.root.join("var/run/fastpath-change/running.json");
        let mut running: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        running["until_up_ms"] = json!(0);
        std::fs::write(&path, running.to_string()).unwrap();
    }

    pub(crate) fn reloaded(&self) -> Vec<String> {
        self.rpcd().reloaded.clone()
    }

    fn rpcd(&self) -> MutexGuard<'_, Rpcd> {
        self.rpcd.lock().unwrap()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Rpcd {
    fn answer(&mut self, object: &str, method: &str, args: &Map) -> Result<Map, Status> {
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        let session = text(SESSION).to_owned();
        match (object, method) {
            ("session", "create") => {
                self.created += 1;
                let created = format!("created{}", self.created);
                self.staged.insert(created.clone(), BTreeMap::new());
                Ok(map([(SESSION, json!(created))]))
            }
            ("session", "grant") => Ok(Map::new()),
            ("session", "destroy") => {
                self.staged.remove(&session);
                Ok(Map::new())
            }
            ("fastpath", "status") => self.status.clone().ok_or(Status::NotFound),
            ("session", "get") => {
                let known = self.users.contains_key(&session);
                let values = map([("values", json!({"username": session}))]);
                known.then_some(values).ok_or(Status::NotFound)
            }
            ("session", "access") => {
                let files = self.users.get(&session).ok_or(Status::NotFound)?;
                let may = files.iter().any(|file| file == "*" || file == text("object"));
                Ok(map([("access", json!(may))]))
            }
            ("service", "event") => {
                self.reloaded.extend(args["data"]["package"].as_str().map(str::to_owned));
                Ok(Map::new())
            }
            ("uci", _) => self.uci(&session, method, args),
            _ => Err(Status::NotFound),
        }
    }

    fn uci(&mut self, session: &str, method: &str, args: &Map) -> Result<Map, Status> {
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        match method {
            "get" => Ok(map([("values", self.values(text("config"), session)?)])),
            "set" => {
                let staged = self.staged.get_mut(session).ok_or(Status::PermissionDenied)?;
                let place = (text("config").to_owned(), text("section").to_owned());
                let values = args["values"].as_object().cloned().unwrap_or_default();
                staged.entry(place).or_default().extend(values);
                Ok(Map::new())
            }
            "apply" => self.apply(session),
            "confirm" | "rollback" => {
                let (by, _) = self.applied.as_ref().ok_or(Status::NoData)?;
                if by != session {
                    return Err(Status::PermissionDenied);
                }
                let (_, files) = self.applied.take().ok_or(Status::NoData)?;
                if method == "rollback" {
                    for (config, old) in files {
                        std::fs::write(self.config.join(config), old).unwrap();
                    }
                }
                Ok(Map::new())
            }
            other => panic!("uci {other} is not supported"),
        }
    }

    fn values(&self, config: &str, session: &str) -> Result<Value, Status> {
        // libuci reads `/etc/config2` before `/etc/config`.
        let first = self.config.with_file_name("config2").join(config);
        let text = std::fs::read(first).or_else(|_| std::fs::read(self.config.join(config)));
        let values = config::parse_uci(&text.map_err(|_| Status::NotFound)?);
        let mut values = values.map_err(|_| Status::UnknownError)?;
        for ((of, section), new) in self.staged.get(session).into_iter().flatten() {
            if let Some(options) = values[section].as_object_mut().filter(|_| of == config) {
                options.extend(new.clone());
            }
        }
        Ok(values)
    }

    fn apply(&mut self, session: &str) -> Result<Map, Status> {
        if self.applied.is_some() {
            return Err(Status::PermissionDenied);
        }
        let places = self.staged.get(session).ok_or(Status::NotFound)?.keys();
        let mut files = BTreeMap::new();
        for (config, _) in places {
            let path = self.config.join(config);
            let text = format_uci(&self.values(config, session)?);
            files.entry(config.clone()).or_insert(std::fs::read(&path).unwrap());
            std::fs::write(&path, text).unwrap();
        }
        self.applied = Some((session.to_owned(), files));
        Ok(Map::new())
    }
}

fn format_uci(values: &Value) -> String {
    let mut text = String::new();
    let sections = values.as_object().into_iter().flatten();
    for (name, section) in sections {
        let kind = section[".type"].as_str().unwrap_or_default();
        let _ = writeln!(text, "config {kind} '{name}'");
        for (option, value) in section.as_object().into_iter().flatten() {
            if let Some(value) = value.as_str().filter(|_| !option.starts_with('.')) {
                let _ = writeln!(text, "\toption {option} '{value}'");
            }
        }
    }
    text
}
