// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmark of the flow table on recorded dumps of 10,000, 100,000 and 200,000 conntrack entries.
//!
//! `cargo run --release -p gateway --features lab --example scale` records missing dumps (needs
//! root and conntrack), measures, and exits with 1 if a limit of `limits.rs` is exceeded. `… scale
//! fixture FILE` records the fixture of the tests. `… scale bench` measures the daemon's core with
//! up to a million connections, without limits (`million.rs`).

mod conntrack;
mod copies;
mod kernel;
mod limits;
mod maps;
mod measure;
mod million;
mod record;
mod router;
mod yardstick;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use measure::Figures;

const SIZES: [usize; 3] = [10_000, 100_000, 200_000];
/// Exit code for "skipped", as in automake.
const SKIPPED: u8 = 77;
/// Maximum rounds. Repeats while a limit is exceeded, because other load distorts measurements.
const MAX_ROUNDS: usize = 4;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["record", size, file] => record_many(size, Path::new(file), None),
        ["record", size, file, events] => {
            record_many(size, Path::new(file), Some(Path::new(events)))
        }
        ["bench", ref sizes @ ..] => million::all(&folder(), sizes).map(|()| ExitCode::SUCCESS),
        ["kernel"] => kernel::measure().map(|()| ExitCode::SUCCESS),
        ["core", kind, copies, dump, events] => {
            million::one(kind, copies, Path::new(dump), Path::new(events))
                .map(|()| ExitCode::SUCCESS)
        }
        ["fixture", file] => record::fixture(Path::new(file)).map(|()| ExitCode::SUCCESS),
        ["measure", file] => measure_one(Path::new(file)),
        [] => all(&folder()),
        _ => Err("usage: scale [bench [N…] | fixture FILE | measure FILE]".into()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("scale: {error}");
        ExitCode::FAILURE
    })
}

/// Returns the folder of the recordings: `SCALE_DIR`, by default in the build folder.
fn folder() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../../build/scale");
    std::env::var_os("SCALE_DIR").map_or(repository, PathBuf::from)
}

fn record_many(size: &str, file: &Path, events: Option<&Path>) -> Result<ExitCode, Failure> {
    record::many(size.parse()?, file, events)?;
    Ok(ExitCode::SUCCESS)
}

fn measure_one(file: &Path) -> Result<ExitCode, Failure> {
    println!("{}", measure::measure(file)?.to_line());
    Ok(ExitCode::SUCCESS)
}

/// Measures each size in a separate process, because peak memory is per process.
fn all(folder: &Path) -> Result<ExitCode, Failure> {
    if let Some(why) = record::impossible() {
        println!("skipped: scale: {why}");
        return Ok(ExitCode::from(SKIPPED));
    }
    std::fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    for size in SIZES {
        let file = folder.join(format!("conntrack-{size}.nl"));
        if !file.exists() {
            eprintln!("recording {size} conntrack entries in a network namespace …");
            child(&["record", &size.to_string(), &file.to_string_lossy()])?;
        }
        files.push(file);
    }
    let mut figures = round(&files)?;
    for _ in 1..MAX_ROUNDS {
        if limits::exceeded(&figures).is_empty() {
            break;
        }
        let again = round(&files)?;
        figures = figures.iter().zip(again).map(|(a, b)| a.best(&b)).collect();
    }
    Ok(if limits::report(&figures) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn round(files: &[PathBuf]) -> Result<Vec<Figures>, Failure> {
    let measure = |file: &PathBuf| {
        let line = child(&["measure", &file.to_string_lossy()])?;
        Figures::from_line(&line).ok_or_else(|| "a measurement could not be read".into())
    };
    files.iter().map(measure).collect()
}

fn child(arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", arguments.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
