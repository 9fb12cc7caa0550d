// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs each target on its corpus, including inputs that once caused a crash.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;

/// Maximum size of all corpora, bytes, because they are in the repository.
const MAX_SIZE: u64 = 200_000;

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[test]
fn each_target_reads_its_corpus() {
    for (name, target) in TARGETS {
        let inputs = entries(&corpus().join(name));
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in inputs {
            println!("{}", input.display());
            target(&fs::read(&input).expect("an input"));
        }
    }
}

#[test]
fn each_corpus_has_a_target_and_the_total_size_is_limited() {
    let known: BTreeSet<PathBuf> = TARGETS.iter().map(|(name, _)| corpus().join(name)).collect();
    let folders: BTreeSet<PathBuf> = entries(&corpus()).into_iter().collect();
    assert_eq!(folders, known);
    let inputs = folders.iter().flat_map(|folder| entries(folder));
    let bytes: u64 = inputs.map(|input| input.metadata().expect("an input").len()).sum();
    assert!(bytes < MAX_SIZE, "{bytes} bytes");
}

#[test]
fn each_target_reads_empty_input_and_noise() {
    let noise: Vec<u8> =
        (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (_, target) in TARGETS {
        target(b"");
        target(&noise);
    }
}
