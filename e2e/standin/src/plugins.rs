// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's exec plugins: each program in a folder is an object of the bus, named as its file.
//!
//! `PROGRAM list` prints `{method: {argument: sample}}`; `PROGRAM call METHOD` reads the arguments
//! as JSON and prints the answer. rpcd asks for the methods when it starts and when it has to
//! reload (SIGHUP); so does this.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use ubus::{Argument, Connection, Incoming, Method, Object, PolicyType, Request, Status};

use crate::exec::Program;
use crate::objects::ServeError;
use crate::reply::Answer;

/// Nesting that json-c's parser takes by default; deeper is a syntax error to it.
const DEPTH: usize = 32;

/// Where the plugins are and how long a call of one may take.
#[derive(Clone, Debug)]
pub struct Plugins {
    /// Their folder.
    pub folder: PathBuf,
    /// A call that takes longer is ended.
    pub limit: Duration,
}

/// The programs by their objects' names.
type Programs = BTreeMap<String, PathBuf>;

impl Plugins {
    /// Publishes the plugins on the bus at `socket`, says so with `published`, and serves them
    /// until the bus goes away.
    ///
    /// # Errors
    /// When the bus is not there.
    pub async fn serve(
        &self,
        socket: &Path,
        published: oneshot::Sender<()>,
    ) -> Result<Infallible, ServeError> {
        let mut reload = signal(SignalKind::hangup()).map_err(ServeError::Signal)?;
        let mut published = Some(published);
        loop {
            let mut connection = Connection::open(socket).await?;
            let programs = self.publish(&connection.handle()).await;
            if let Some(published) = published.take() {
                // Nobody may wait for it.
                let _ = published.send(());
            }
            self.answer_until(&mut reload, &mut connection, &programs).await?;
        }
    }

    /// rpcd restarts itself to reload: its objects are removed and added.
    async fn answer_until(
        &self,
        reload: &mut Signal,
        connection: &mut Connection,
        programs: &Programs,
    ) -> Result<(), ServeError> {
        loop {
            tokio::select! {
                _ = reload.recv() => return Ok(()),
                incoming = connection.next() => if let Incoming::Invoke(request) = incoming?
                    && let Some(program) = programs.get(&request.object)
                {
                        tokio::task::spawn_local(answer(program.clone(), self.limit, request));
                },
            }
        }
    }

    async fn publish(&self, bus: &ubus::Handle) -> Programs {
        let mut programs = Programs::new();
        for (path, program) in candidates(&self.folder) {
            let Some(methods) = list(&program, self.limit).await else { continue };
            match bus.publish_unchecked(Object { path: path.clone(), methods }).await {
                Ok(()) => drop(programs.insert(path, program)),
                Err(error) => log::error!("publishing {}: {error}", program.display()),
            }
        }
        programs
    }
}

/// The files that their owner may run, links followed.
fn candidates(folder: &Path) -> Programs {
    let Ok(entries) = std::fs::read_dir(folder) else { return Programs::new() };
    let runs = |meta: &Metadata| meta.is_file() && meta.permissions().mode() & 0o100 != 0;
    let named = entries.flatten().filter_map(|entry| {
        std::fs::metadata(entry.path()).ok().filter(runs)?;
        Some((entry.file_name().into_string().ok()?, entry.path()))
    });
    named.collect()
}

/// The methods that a plugin lists; none for one without a usable list.
async fn list(program: &Path, limit: Duration) -> Option<&'static [Method]> {
    let output = run(Program::new(program, &["list"]), limit).await;
    let Some(Value::Object(methods)) = first_value(&output) else {
        log::error!("{} list prints no JSON object", program.display());
        return None;
    };
    let methods: Vec<Method> = methods.iter().filter_map(method).collect();
    // The bus keeps signatures for ever; a lab reloads a handful of times.
    (!methods.is_empty()).then(|| &*methods.leak())
}

fn method((name, arguments): (&String, &Value)) -> Option<Method> {
    let policy = |(name, sample): (&String, &Value)| -> Argument {
        (String::leak(name.clone()), kind(sample))
    };
    let policy: Vec<Argument> = arguments.as_object()?.iter().map(policy).collect();
    Some(Method { name: String::leak(name.clone()), policy: policy.leak() })
}

/// The type of an argument by its sample; of a number, 8 and 64 stand for its width
/// (and 16, which none of our plugins has and nothing here could send).
fn kind(sample: &Value) -> PolicyType {
    match sample {
        Value::Null => PolicyType::Any,
        Value::Bool(_) => PolicyType::Bool,
        Value::String(_) => PolicyType::String,
        Value::Array(_) => PolicyType::Array,
        Value::Object(_) => PolicyType::Table,
        Value::Number(number) => match number.as_i64() {
            None => PolicyType::Double,
            Some(8) => PolicyType::Bool,
            Some(number) if number == 64 || i32::try_from(number).is_err() => PolicyType::Int64,
            Some(_) => PolicyType::Int32,
        },
    }
}

/// Runs a call and answers it; arguments are passed unchanged, known to the plugin or not.
async fn answer(program: PathBuf, limit: Duration, request: Request) {
    let mut program = Program::new(program, &["call", &request.method]);
    program.input = Value::Object(request.args).to_string().into_bytes();
    let output = run(program, limit).await;
    match reply(&output) {
        Ok(map) => {
            if let Err(error) = request.reply.data(&map) {
                log::warn!("answering {}: {error}", request.object);
            }
        }
        Err(status) => request.reply.status(status),
    }
}

/// rpcd's reply for a plugin's output, whatever the plugin's status: the answer for a JSON object
/// at its beginning, a status for all else.
fn reply(output: &[u8]) -> Answer {
    match first_value(output) {
        Some(Value::Object(map)) if map.values().all(|value| depth(value) < DEPTH) => Ok(map),
        Some(Value::Null) => Err(Status::NoData),
        None if output.is_empty() => Err(Status::NoData),
        _ => Err(Status::InvalidArgument),
    }
}

fn first_value(output: &[u8]) -> Option<Value> {
    serde_json::Deserializer::from_slice(output).into_iter().next()?.ok()
}

/// How deep objects and lists are nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A plugin's output: all of it, or the part before its timeout.
async fn run(program: Program, limit: Duration) -> Vec<u8> {
    let words: Vec<_> = program.words.iter().map(|word| word.to_string_lossy()).collect();
    let what = format!("{} {}", program.path.display(), words.join(" "));
    match program.run(limit).await {
        Ok(outcome) => {
            // rpcd discards this; it is useful for plugin development.
            let complaint = String::from_utf8_lossy(&outcome.stderr);
            complaint.lines().for_each(|line| log::warn!("{what}: {line}"));
            if outcome.late {
                log::error!("{what}: killed after {} s", limit.as_secs());
            }
            outcome.stdout
        }
        Err(error) => {
            log::error!("{what}: {error}");
            Vec::new()
        }
    }
}
