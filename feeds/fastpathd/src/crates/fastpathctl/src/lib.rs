// SPDX-License-Identifier: GPL-2.0-or-later
//! fastpathctl: what fastpathd knows, on the command line.

mod args;
mod cpu_plan;
mod doctor;
mod ebpf;
mod examination;
mod persist;
mod protection;
mod show;
mod table;
mod units;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, ArgsError, Command, EngineChange};
use serde_json::{Map, Value, json};
use ubus::{CallError, ConnectError, Connection, Handle, Status};

/// The daemon answers in milliseconds; applying an engine takes some runs of nft.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Args(#[from] ArgsError),
    #[error("{0}: {1}")]
    Connect(ConnectError, String),
    #[error("fastpathd is not running (object fastpath not found on ubus)")]
    NoDaemon,
    #[error("{0}")]
    Call(CallError),
    #[error("{method}: fastpathd rejected the arguments; see its log")]
    Arguments { method: &'static str },
    #[error("flow {0} does not exist (any more)")]
    NoFlow(u64),
    #[error("{0} is not blocked")]
    NotBlocked(String),
    #[error(transparent)]
    Persist(#[from] persist::PersistError),
    #[error("{0}")]
    Doctor(#[from] doctor::DoctorError),
    #[error("starting: {0}")]
    Runtime(#[source] std::io::Error),
}

/// The whole program. The first of `args` is the name it was started by.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().skip(1).collect();
    let failure = match args::parse(args.iter().cloned()) {
        Ok(args) => match carry_out(args) {
            Ok(status) => return status,
            Err(failure) => failure,
        },
        Err(error) => Failure::Args(error),
    };
    let misused = matches!(failure, Failure::Args(_));
    let usage = if misused { args::USAGE } else { "" };
    // A closed pipe must not cause a panic, here and below.
    let _ = write!(std::io::stderr(), "fastpathctl: {failure}\n{usage}");
    match failure {
        // 1 and 2 would be findings.
        Failure::Doctor(_) => ExitCode::from(3),
        Failure::Args(_) if args.iter().any(|word| word == "doctor") => ExitCode::from(3),
        Failure::Args(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn carry_out(args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Help => print(args::USAGE),
        Command::Version => print(&format!("fastpathctl {}\n", env!("CARGO_PKG_VERSION"))),
        _ => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(Failure::Runtime)?;
            if let Command::Doctor(request) = args.command {
                let doctor = doctor::doctor(&args.socket, request, args.json);
                return Ok(runtime.block_on(doctor)?);
            }
            runtime.block_on(ask(args))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(args: Args) -> Result<(), Failure> {
    let connection = Connection::open(Path::new(&args.socket)).await.map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Failure::Connect(error, cause.unwrap_or_default())
    })?;
    let bus = connection.handle();
    let (answer, show): (Value, fn(&Value) -> String) = match args.command {
        Command::Watch(request) => return watch::run(&bus, request).await,
        Command::Flow(id) => {
            let answer = call(&bus, "flow", json!({"id": id})).await;
            (answer.map_err(|failure| no_flow(failure, id))?, show::flow)
        }
        Command::Flows(request) => (call(&bus, "flows", request.into()).await?, show::flows),
        Command::Top(by) => (call(&bus, "top", json!({"by": by})).await?, show::top),
        Command::Topology => (call(&bus, "topology", json!({})).await?, show::topology),
        Command::Ips => (call(&bus, "ips", json!({})).await?, protection::ips),
        Command::Alerts(request) => {
            (call(&bus, "alerts", request.into()).await?, protection::alerts)
        }
        Command::Blocks => (call(&bus, "blocks", json!({})).await?, protection::blocks),
        Command::Release(address) => {
            let answer = call(&bus, "block_release", json!({"address": address})).await;
            (answer.map_err(|failure| not_blocked(failure, &address))?, protection::released)
        }
        Command::Reinspect => (call(&bus, "reinspect", json!({})).await?, protection::reinspected),
        Command::UpdateRules => {
            (call(&bus, "rules_update", json!({})).await?, protection::rules_update)
        }
        Command::Cpu => (call(&bus, "cpu", json!({})).await?, cpu_plan::cpu),
        Command::Ebpf => (call(&bus, "ebpf", json!({})).await?, ebpf::ebpf),
        Command::Engine(None) => {
            let mut status = call(&bus, "status", json!({})).await?;
            (status["engine"].take(), show::engine)
        }
        Command::Engine(Some(EngineChange { set, persist })) => {
            let state = call(&bus, "engine", json!({"set": set})).await?;
            if persist {
                persist::engine(&bus, &set).await?;
            }
            (state, show::engine)
        }
        Command::Flush => (call(&bus, "flush", json!({})).await?, show::flushed),
        _ => (call(&bus, "status", json!({})).await?, show::status),
    };
    if args.json {
        print(&format!("{answer:#}\n"));
    } else {
        print(&show(&answer));
    }
    Ok(())
}

async fn call(bus: &Handle, method: &'static str, request: Value) -> Result<Value, Failure> {
    let request: Map<String, Value> = match request {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    match bus.call("fastpath", method, &request, PATIENCE).await {
        Ok(answer) => Ok(Value::Object(answer)),
        Err(error) if error.status() == Status::InvalidArgument => {
            Err(Failure::Arguments { method })
        }
        Err(error)
            if error.status() == Status::NotFound
                && !matches!(method, "flow" | "block_release") =>
        {
            Err(Failure::NoDaemon)
        }
        Err(error) => Err(Failure::Call(error)),
    }
}

fn no_flow(failure: Failure, id: u64) -> Failure {
    match failure {
        Failure::Call(error) if error.status() == Status::NotFound => Failure::NoFlow(id),
        other => other,
    }
}

fn not_blocked(failure: Failure, address: &str) -> Failure {
    match failure {
        Failure::Call(error) if error.status() == Status::NotFound => {
            Failure::NotBlocked(address.to_owned())
        }
        other => other,
    }
}

fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
