// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmark of the flow table on recorded dumps of 10,000, 100,000 and 200,000 conntrack entries.
//!
//! `cargo run --release -p gateway --features lab --example scale` records missing dumps (needs
//! root and conntrack), measures, also with 500 devices (`crowd.rs`), and exits with 1 if a limit
//! of `limits.rs` is exceeded. `… scale fixture FILE` records the fixture of the tests. `… scale
//! bench` measures the daemon's core with up to a million connections, without limits
//! (`million.rs`).

mod conntrack;
mod copies;
mod crowd;
mod kernel;
mod limits;
mod maps;
mod measure;
mod million;
mod past;
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
        ["past", folder] => past::write(Path::new(folder)).map(|()| ExitCode::SUCCESS),
        ["seconds", dump] => crowd::seconds(Path::new(dump)).and_then(|it| print(&it)),
        ["answers", dump, past] => {
            crowd::answers(Path::new(dump), Path::new(past)).and_then(|it| print(&it))
        }
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

fn print(figures: &million::Figures) -> Result<ExitCode, Failure> {
    println!("{}", serde_json::to_string(figures)?);
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
    let past = folder.join("past");
    child(&["past", &past.to_string_lossy()])?;
    let mut figures = round(&files)?;
    let mut crowd = crowd_round(&files[1], &past)?;
    for _ in 1..MAX_ROUNDS {
        if limits::exceeded(&figures, &crowd).is_empty() {
            break;
        }
        let again = round(&files)?;
        figures = figures.iter().zip(again).map(|(a, b)| a.best(&b)).collect();
        for (best, again) in crowd.iter_mut().zip(crowd_round(&files[1], &past)?) {
            best.1 = best.1.min(again.1);
        }
    }
    let is_good = limits::report(&figures, &crowd);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn crowd_round(dump: &Path, past: &Path) -> Result<million::Figures, Failure> {
    let [dump, past] = [dump, past].map(Path::to_string_lossy);
    let mut figures: million::Figures = serde_json::from_str(&child(&["seconds", &dump])?)?;
    let answers: million::Figures = serde_json::from_str(&child(&["answers", &dump, &past])?)?;
    figures.extend(answers);
    Ok(figures)
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
