// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs nft with a timeout. Tests replace it through the trait.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::process::{Command as Program, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NftError {
    /// nft could not be started, or its input or output failed.
    #[error("running {program}: {cause}")]
    Run { program: String, cause: String },
    /// nft's message; the kernel's rules are unchanged.
    #[error("{0}")]
    Refused(String),
    /// nft exceeded its time limit and was killed.
    #[error("it did not end within {0:?}")]
    Timeout(Duration),
    /// A signal killed nft, perhaps because memory was low.
    #[error("it was {0}")]
    Killed(String),
    #[error("its answer: {0}")]
    Answer(String),
}

pub trait Nft {
    /// Checks a script without applying it (`nft -c -f -`).
    fn check(&self, script: &str) -> impl Future<Output = Result<(), NftError>>;
    /// Runs a script as one transaction (`nft -f -`).
    fn run(&self, script: &str) -> impl Future<Output = Result<(), NftError>>;
    /// Returns table `inet fastpath` as JSON (`nft -j`); `None` if it does not exist.
    fn list(&self) -> impl Future<Output = Result<Option<Value>, NftError>>;
}

#[derive(Debug, Clone)]
pub struct NftCommand {
    /// `nft` by default.
    pub program: PathBuf,
    /// 10 s by default.
    pub timeout: Duration,
}

impl Default for NftCommand {
    fn default() -> Self {
        Self { program: "nft".into(), timeout: Duration::from_secs(10) }
    }
}

impl NftCommand {
    async fn ask(&self, args: &[&str]) -> Result<Value, NftError> {
        let value = serde_json::from_slice(&self.call(args, "").await?.stdout);
        value.map_err(|error| NftError::Answer(error.to_string()))
    }

    pub(crate) async fn ruleset(&self) -> Result<Value, NftError> {
        self.ask(&["-j", "-t", "list", "ruleset"]).await
    }

    pub(crate) async fn set(
        &self,
        family: &str,
        table: &str,
        name: &str,
    ) -> Result<Value, NftError> {
        let listing = self.ask(&["-j", "list", "set", family, table, name]).await?;
        let objects = listing.get("nftables").and_then(Value::as_array);
        let set = objects.into_iter().flatten().find_map(|object| object.get("set"));
        let elements = set.and_then(|set| set.get("elem").cloned());
        Ok(elements.unwrap_or_else(|| Value::Array(Vec::new())))
    }

    async fn call(&self, args: &[&str], input: &str) -> Result<Output, NftError> {
        let output = tokio::time::timeout(self.timeout, self.call_unbounded(args, input))
            .await
            .map_err(|_| NftError::Timeout(self.timeout))?
            .map_err(|cause| NftError::Run {
                program: self.program.display().to_string(),
                cause: cause.to_string(),
            })?;
        match launch::killed(output.status) {
            Some(how) => Err(NftError::Killed(how)),
            None if output.status.success() => Ok(output),
            None => Err(NftError::Refused(message(&output))),
        }
    }

    async fn call_unbounded(&self, args: &[&str], input: &str) -> io::Result<Output> {
        let mut program = Program::new(&self.program);
        // nft needs `CAP_NET_ADMIN`; its input comes from this crate.
        launch::with_net_admin(program.args(args));
        let mut child = Command::from(program)
            // Messages are compared with English text.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // Ignore the error: nft may exit early, and its output states the reason.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        output
    }

    async fn script(&self, args: &[&str], script: &str) -> Result<(), NftError> {
        self.call(args, script).await.map(drop)
    }
}

fn message(output: &Output) -> String {
    launch::ended(output.status, &String::from_utf8_lossy(&output.stderr))
}

/// Kernel error for a missing table or device.
pub(crate) const NOT_THERE: &str = "No such file or directory";

impl Nft for NftCommand {
    async fn check(&self, script: &str) -> Result<(), NftError> {
        self.script(&["-c", "-f", "-"], script).await
    }

    async fn run(&self, script: &str) -> Result<(), NftError> {
        self.script(&["-f", "-"], script).await
    }

    async fn list(&self) -> Result<Option<Value>, NftError> {
        match self.ask(&["-j", "list", "table", "inet", "fastpath"]).await {
            Err(NftError::Refused(text)) if text.contains(NOT_THERE) => Ok(None),
            answer => answer.map(Some),
        }
    }
}
