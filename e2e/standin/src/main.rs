// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of the stand-in.

use std::error::Error;
use std::process::ExitCode;

use standin::client;
use standin::options::{Options, USAGE};
use tokio::signal::unix::{SignalKind, signal};

struct Stdio;

impl log::Log for Stdio {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let line =
                format!("standin {}: {}", record.level().as_str().to_lowercase(), record.args());
            // Warnings and errors go to stderr, which procd logs as errors.
            if record.level() <= log::Level::Warn {
                eprintln!("{line}");
            } else {
                println!("{line}");
            }
        }
    }

    fn flush(&self) {}
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((verb, rest)) if verb == "call" => return exit_code(run(client::call(rest))),
        Some((verb, rest)) if verb == "list" => return exit_code(run(client::list(rest))),
        Some((verb, rest)) if verb == "subscribe" => {
            return exit_code(run(client::subscribe(rest)));
        }
        Some(_) | None => {}
    }
    let options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("fastpath-standin: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if log::set_logger(&Stdio).is_ok() {
        log::set_max_level(log::LevelFilter::Info);
    }
    exit_code(serve(options))
}

fn exit_code(outcome: Result<(), Box<dyn Error>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fastpath-standin: {error}: {}", standin::chain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn run(verb: impl Future<Output = Result<(), Box<dyn Error>>>) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, verb)
}

fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (ready, answering) = tokio::sync::oneshot::channel();
        tokio::task::spawn_local(async {
            if let Ok(address) = answering.await {
                println!("ready http://{address}/");
            }
        });
        tokio::select! {
            outcome = standin::run(options, ready) => match outcome? {},
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
        }
    })
}
