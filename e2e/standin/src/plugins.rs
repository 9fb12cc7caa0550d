// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's exec plug-ins: each program in a folder is an object of the bus with the file's name.
//!
//! `PROGRAM list` prints `{method: {argument: sample}}`. `PROGRAM call METHOD` reads JSON arguments
//! and prints the answer. Like rpcd, methods are listed at start and on SIGHUP.

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

/// Nesting limit of json-c's parser; deeper values are syntax errors.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug)]
pub struct Plugins {
    pub folder: PathBuf,
    pub limit: Duration,
}

/// Programs by object name.
type Programs = BTreeMap<String, PathBuf>;

impl Plugins {
    /// Publishes the plug-ins on the bus at `socket`, signals `published`, and serves them until
    /// the bus is gone.
    ///
    /// # Errors
    /// Returns an error if the bus is missing.
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
                // Ignore a dropped receiver.
                let _ = published.send(());
            }
            self.answer_until(&mut reload, &mut connection, &programs).await?;
        }
    }

    /// Answers calls until a reload, which like rpcd's restart replaces all objects.
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

/// Returns the executables in `folder`, following links.
fn candidates(folder: &Path) -> Programs {
    let Ok(entries) = std::fs::read_dir(folder) else { return Programs::new() };
    let runs = |meta: &Metadata| meta.is_file() && meta.permissions().mode() & 0o100 != 0;
    let named = entries.flatten().filter_map(|entry| {
        std::fs::metadata(entry.path()).ok().filter(runs)?;
        Some((entry.file_name().into_string().ok()?, entry.path()))
    });
    named.collect()
}

/// Returns the methods of a plug-in, or `None` if its list is invalid.
async fn list(program: &Path, limit: Duration) -> Option<&'static [Method]> {
    let output = run(Program::new(program, &["list"]), limit).await;
    let Some(Value::Object(methods)) = first_value(&output) else {
        log::error!("{} list prints no JSON object", program.display());
        return None;
    };
    let methods: Vec<Method> = methods.iter().filter_map(method).collect();
    // The bus needs `'static` signatures. Leaking is fine: the lab rarely reloads.
    (!methods.is_empty()).then(|| &*methods.leak())
}

fn method((name, arguments): (&String, &Value)) -> Option<Method> {
    let policy = |(name, sample): (&String, &Value)| -> Argument {
        (String::leak(name.clone()), kind(sample))
    };
    let policy: Vec<Argument> = arguments.as_object()?.iter().map(policy).collect();
    Some(Method { name: String::leak(name.clone()), policy: policy.leak() })
}

/// Returns an argument's type from its sample. The numbers 8 and 64 select an integer's width; 16
/// is unsupported because our plug-ins do not use it.
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

/// Runs the plug-in and answers the call. Like rpcd, passes arguments that were not listed.
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

/// Converts a plug-in's output to rpcd's reply. The exit status is ignored; output that does not
/// start with a JSON object becomes a status.
fn reply(output: &[u8]) -> Answer {
    match first_value(output) {
        Some(Value::Object(map)) if map.values().all(|value| depth(value) < MAX_DEPTH) => Ok(map),
        Some(Value::Null) => Err(Status::NoData),
        None if output.is_empty() => Err(Status::NoData),
        _ => Err(Status::InvalidArgument),
    }
}

fn first_value(output: &[u8]) -> Option<Value> {
    serde_json::Deserializer::from_slice(output).into_iter().next()?.ok()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns a plug-in's output, truncated at the timeout.
async fn run(program: Program, limit: Duration) -> Vec<u8> {
    let words: Vec<_> = program.words.iter().map(|word| word.to_string_lossy()).collect();
    let what = format!("{} {}", program.path.display(), words.join(" "));
    match program.run(limit).await {
        Ok(outcome) => {
            // rpcd discards stderr; the lab logs it to help developers.
            let stderr = String::from_utf8_lossy(&outcome.stderr);
            stderr.lines().for_each(|line| log::warn!("{what}: {line}"));
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
