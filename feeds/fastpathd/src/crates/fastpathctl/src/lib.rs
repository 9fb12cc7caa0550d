// SPDX-License-Identifier: GPL-2.0-or-later
//! fastpathctl, the command line of fastpathd.

mod args;
mod cpu_plan;
mod device;
mod doctor;
mod ebpf;
mod examination;
mod export;
mod json;
mod persist;
mod protection;
mod show;
mod table;
mod units;
mod usage;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, ArgsError, Command, EngineChange, Query};
use json::text;
use protection::plain_answer;
use serde_json::{Value, json};
use ubus::{CallError, ConnectError, Connection, Handle, Status};

/// Timeout of a call. The daemon answers in milliseconds, unless it runs nft.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Args(#[from] ArgsError),
    #[error("{0}: {1}")]
    Connect(ConnectError, String),
    #[error("fastpathd is not running (object fastpath not found on ubus)")]
    NoDaemon,
    #[error("package fastpath-notify is not installed")]
    NoNotify,
    #[error("{0}")]
    Call(CallError),
    #[error("{method}: fastpathd rejected the arguments; see its log")]
    Arguments { method: &'static str },
    #[error("flow {0} does not exist (any more)")]
    NoFlow(Value),
    #[error("{0} is not blocked")]
    NotBlocked(String),
    #[error(transparent)]
    Persist(#[from] persist::PersistError),
    #[error(transparent)]
    Device(#[from] device::DeviceError),
    #[error("{0}")]
    Doctor(#[from] doctor::DoctorError),
    #[error("starting: {0}")]
    Runtime(#[source] std::io::Error),
}

/// Runs the program. The first of `args` is the program name.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().skip(1).collect();
    let failure = match args::parse(args.iter().cloned()) {
        Ok(args) => match execute(args) {
            Ok(status) => return status,
            Err(failure) => failure,
        },
        Err(error) => Failure::Args(error),
    };
    let misused = matches!(failure, Failure::Args(_));
    let usage = if misused { args::USAGE } else { "" };
    // Ignore a closed pipe instead of panicking.
    let _ = write!(std::io::stderr(), "fastpathctl: {failure}\n{usage}");
    match failure {
        // The doctor uses 1 and 2 for findings.
        Failure::Doctor(_) => ExitCode::from(3),
        Failure::Args(_) if args.iter().any(|word| word == "doctor") => ExitCode::from(3),
        Failure::Args(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn execute(args: Args) -> Result<ExitCode, Failure> {
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
    let engine_shown = matches!(args.command, Command::Engine(None));
    let (query, persisted) = match args.command {
        Command::Watch(request) => return watch::run(&bus, request).await,
        Command::Device(verb) => {
            let answer = verb.run(&bus).await?;
            print(&if args.json { format!("{answer:#}\n") } else { device::show(&answer) });
            return Ok(());
        }
        Command::Ask(query) => (query, None),
        Command::Engine(None) => {
            (Query { method: "status", args: json!({}), show: show::engine }, None)
        }
        Command::Engine(Some(EngineChange { set, persist })) => {
            let args = json!({"set": set});
            (Query { method: "engine", args, show: show::engine }, persist.then_some(set))
        }
        Command::Help | Command::Version | Command::Doctor(_) => return Ok(()),
    };
    let mut answer = call(&bus, query.method, &query.args).await?;
    if engine_shown {
        answer = answer["engine"].take();
    }
    if let Some(engine) = persisted {
        persist::engine(&bus, &engine).await?;
    }
    if args.json {
        print(&format!("{answer:#}\n"));
    } else {
        print(&(query.show)(&plain_answer(answer)));
    }
    Ok(())
}

async fn call(bus: &Handle, method: &'static str, request: &Value) -> Result<Value, Failure> {
    let (object, name) = match method {
        "notifications" => ("fastpath.notify", "status"),
        _ => ("fastpath", method),
    };
    match bus.call(object, name, request, TIMEOUT).await {
        Ok(answer) => Ok(Value::Object(answer)),
        Err(error) if error.status() == Status::InvalidArgument => {
            Err(Failure::Arguments { method })
        }
        Err(error) if error.status() == Status::NotFound => Err(match method {
            "flow" => Failure::NoFlow(request["id"].clone()),
            "block_release" => Failure::NotBlocked(text(request, "address").to_owned()),
            "notifications" => Failure::NoNotify,
            _ => Failure::NoDaemon,
        }),
        Err(error) => Err(Failure::Call(error)),
    }
}

fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
