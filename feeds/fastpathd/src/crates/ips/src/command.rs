// SPDX-License-Identifier: GPL-2.0-or-later
//! Client of Suricata's command socket.
//!
//! Messages are JSON objects, one per line; the client sends the protocol version first. One
//! thread of Suricata serves all clients with blocking reads, so each message is a single write.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::counters::SuricataCounters;
use crate::health::RuleCounts;

mod answer;

pub use answer::{FailedRule, read_answer, read_failed_rules, read_rules};

/// Maximum length of an answer, bytes. `dump-counters` takes about 60 KiB.
pub const MAX_ANSWER_LEN: usize = 1 << 20;

/// First protocol version in which messages end with a newline.
const VERSION: &str = "0.2";

#[derive(Debug, Error)]
pub enum CommandError {
    /// No listener, or its backlog is full.
    #[error("cannot connect to Suricata's command socket {}: {source}", .path.display())]
    Connect { path: PathBuf, source: std::io::Error },
    #[error("lost Suricata's command socket at '{command}': {source}")]
    Broken { command: &'static str, source: std::io::Error },
    #[error("Suricata did not answer '{command}' within {} ms", .limit.as_millis())]
    TimedOut { command: &'static str, limit: Duration },
    #[error("Suricata's answer to '{command}' is longer than {MAX_ANSWER_LEN} bytes")]
    TooLong { command: &'static str },
    #[error("Suricata's answer to '{command}' {what}")]
    Malformed { command: &'static str, what: String },
    #[error("Suricata refused '{command}': {message}")]
    Refused { command: &'static str, message: String },
}

/// Client that connects at the first command. Any error except a refusal closes the connection.
#[derive(Debug)]
pub struct Commands {
    path: PathBuf,
    limit: Duration,
    stream: Option<BufReader<UnixStream>>,
}

impl Commands {
    #[must_use]
    pub fn new(path: &Path, limit: Duration) -> Self {
        Self { path: path.to_owned(), limit, stream: None }
    }

    pub async fn uptime(&mut self) -> Result<Duration, CommandError> {
        let message = self.ask("uptime").await?;
        let seconds = message.as_u64().ok_or_else(|| nonsense("uptime", "is not a number"))?;
        Ok(Duration::from_secs(seconds))
    }

    pub async fn version(&mut self) -> Result<String, CommandError> {
        let message = self.ask("version").await?;
        let text = message.as_str().ok_or_else(|| nonsense("version", "is not a string"))?;
        Ok(crate::text::bounded(text.to_owned(), 64))
    }

    pub async fn counters(&mut self) -> Result<SuricataCounters, CommandError> {
        let message = self.ask("dump-counters").await?;
        SuricataCounters::read(&message).ok_or_else(|| nonsense("dump-counters", "has no counters"))
    }

    /// Starts a reload of the rules. Suricata keeps inspecting with the old rules meanwhile. Fails
    /// during another reload, or if Suricata was started with `-s` or `-S`.
    pub async fn reload_rules(&mut self) -> Result<(), CommandError> {
        self.ask("ruleset-reload-nonblocking").await.map(drop)
    }

    /// Calls [`Self::reload_rules`] up to `tries` times, with `pause` in between.
    pub async fn reload_rules_within(
        &mut self,
        tries: u32,
        pause: Duration,
    ) -> Result<(), CommandError> {
        for _ in 1..tries {
            if self.reload_rules().await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
        }
        self.reload_rules().await
    }

    pub async fn reload_time(&mut self) -> Result<String, CommandError> {
        const COMMAND: &str = "ruleset-reload-time";
        let message = self.ask(COMMAND).await?;
        let text = message.pointer("/0/last_reload").and_then(Value::as_str);
        let text = text.ok_or_else(|| nonsense(COMMAND, "has no time"))?;
        Ok(crate::text::bounded(text.to_owned(), 64))
    }

    pub async fn rules(&mut self) -> Result<RuleCounts, CommandError> {
        const COMMAND: &str = "ruleset-stats";
        let message = self.ask(COMMAND).await?;
        read_rules(&message).ok_or_else(|| nonsense(COMMAND, "has no numbers of rules"))
    }

    /// Returns the first rules that failed to load; Suricata reports at most 21.
    pub async fn failed_rules(&mut self) -> Result<Vec<FailedRule>, CommandError> {
        const COMMAND: &str = "ruleset-failed-rules";
        let message = self.ask(COMMAND).await?;
        read_failed_rules(&message).ok_or_else(|| nonsense(COMMAND, "is not a list of rules"))
    }

    async fn ask(&mut self, command: &'static str) -> Result<Value, CommandError> {
        let limit = self.limit;
        let answer = timeout(limit, self.exchange(command)).await;
        let answer = answer.unwrap_or(Err(CommandError::TimedOut { command, limit }));
        // The connection is closed, because a late answer would belong to the wrong command.
        if !matches!(answer, Ok(_) | Err(CommandError::Refused { .. })) {
            self.stream = None;
        }
        answer
    }

    async fn exchange(&mut self, command: &'static str) -> Result<Value, CommandError> {
        // If the command is cancelled, the connection is dropped in an undefined state.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let line = send(&mut stream, command, &json!({ "command": command })).await?;
        let answer = read_answer(command, &line);
        self.stream = Some(stream);
        answer
    }

    async fn connect(&self) -> Result<BufReader<UnixStream>, CommandError> {
        const COMMAND: &str = "version of the protocol";
        let stream = UnixStream::connect(&self.path).await;
        let stream =
            stream.map_err(|source| CommandError::Connect { path: self.path.clone(), source })?;
        let mut stream = BufReader::new(stream);
        let line = send(&mut stream, COMMAND, &json!({ "version": VERSION })).await?;
        read_answer(COMMAND, &line)?;
        Ok(stream)
    }
}

fn nonsense(command: &'static str, what: &str) -> CommandError {
    CommandError::Malformed { command, what: what.to_owned() }
}

async fn send(
    stream: &mut BufReader<UnixStream>,
    command: &'static str,
    message: &Value,
) -> Result<Vec<u8>, CommandError> {
    let broken = |source| CommandError::Broken { command, source };
    let text = format!("{message}\n");
    stream.get_mut().write_all(text.as_bytes()).await.map_err(broken)?;
    match read_line(stream).await.map_err(broken)? {
        Some(line) => Ok(line),
        None => Err(CommandError::TooLong { command }),
    }
}

/// Reads a line. Returns `None` if it is longer than [`MAX_ANSWER_LEN`].
async fn read_line(stream: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let bytes = stream.fill_buf().await?;
        if bytes.is_empty() {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(bytes.len());
        if line.len() + length > MAX_ANSWER_LEN {
            return Ok(None);
        }
        line.extend_from_slice(&bytes[..length]);
        stream.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests;
