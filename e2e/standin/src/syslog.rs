// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `log` of logd: recent messages of kernel and programs. Programs send to a
//! socket; `NAME.log` and `NAME.err.log` contain the output of services, which procd would log.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::{Answer, text};

/// Maximum number of messages. logd limits the size instead, to 128 KiB by default.
const MAX_MESSAGES: usize = 1500;
const MAX_CHARS: usize = 1024;
/// Priorities `daemon.info` and `daemon.err`, used by procd for stdout and stderr of services.
const DAEMON_INFO: u32 = 30;
const DAEMON_ERR: u32 = 27;
/// Priority `user.notice`, for messages without a priority.
const USER_NOTICE: u32 = 13;
/// logd's source number for messages of programs.
const SOURCE_SYSLOG: u32 = 1;

pub const METHODS: &[Method] = &[
    Method {
        name: "read",
        policy: &[
            ("lines", PolicyType::Int32),
            ("stream", PolicyType::Bool),
            ("oneshot", PolicyType::Bool),
            ("ubus_rpc_session", PolicyType::String),
        ],
    },
    Method { name: "write", policy: &[("event", PolicyType::String)] },
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    id: u32,
    priority: u32,
    time_ms: u64,
    text: String,
}

#[derive(Debug, Default)]
pub struct Log {
    messages: VecDeque<Message>,
    next: u32,
    socket: Option<UnixDatagram>,
    folder: Option<PathBuf>,
    /// Read offset in each file.
    read: BTreeMap<PathBuf, u64>,
}

impl Log {
    /// Opens the socket and the folder. A source that fails is logged and skipped.
    #[must_use]
    pub fn new(socket: Option<&Path>, folder: Option<PathBuf>) -> Log {
        let listen = |path: &Path| {
            let _ = std::fs::remove_file(path);
            let socket = UnixDatagram::bind(path)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let socket = socket.and_then(|path| {
            listen(path)
                .inspect_err(|error: &std::io::Error| log::warn!("{}: {error}", path.display()))
                .ok()
        });
        Log { socket, folder, ..Log::default() }
    }

    fn add(&mut self, priority: u32, text: &str) {
        let text: String = text.trim_end().chars().take(MAX_CHARS).collect();
        if text.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let text = text.replace('\n', " ");
        self.messages.push_back(Message { id: self.next, priority, time_ms, text });
        self.next = self.next.wrapping_add(1);
        if self.messages.len() > MAX_MESSAGES {
            self.messages.pop_front();
        }
    }

    pub fn receive(&mut self) {
        let mut buffer = [0; MAX_CHARS * 4];
        while let Some(Ok(length)) = self.socket.as_ref().map(|socket| socket.recv(&mut buffer)) {
            let (priority, text) = datagram(&String::from_utf8_lossy(&buffer[..length]));
            self.add(priority, &text);
        }
        let Some(entries) = self.folder.as_ref().and_then(|f| std::fs::read_dir(f).ok()) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            self.read_entry(&path);
        }
    }

    /// Reads new lines of `NAME.log` or `NAME.err.log`. Skips pppd, which sends to the socket.
    fn read_entry(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".log").filter(|name| !name.starts_with("pppoe-"))
        else {
            return;
        };
        let (name, priority) = match name.strip_suffix(".err") {
            Some(name) => (name, DAEMON_ERR),
            None => (name, DAEMON_INFO),
        };
        let known = self.read.get(path).copied().unwrap_or(0);
        let Ok(mut file) = File::open(path) else { return };
        let length = file.metadata().map_or(0, |meta| meta.len());
        // A file that shrank was truncated; read it from the start.
        let from = if length < known { 0 } else { known };
        let mut bytes = Vec::new();
        if length == from
            || file.seek(SeekFrom::Start(from)).is_err()
            || file.take(1 << 20).read_to_end(&mut bytes).is_err()
        {
            return;
        }
        // Leave an incomplete line for the next read.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read.insert(path.to_owned(), from + end as u64);
        for line in String::from_utf8_lossy(&bytes[..end]).lines() {
            // Lines in `messages` already start with the program's name.
            let line = if name == "messages" { line.to_owned() } else { format!("{name}: {line}") };
            self.add(priority, &line);
        }
    }

    /// Answers a call.
    ///
    /// # Errors
    /// Returns the status for the caller.
    pub fn answer(&mut self, (method, args): (&str, &Map)) -> Answer {
        self.receive();
        match method {
            "read" => {
                // Do not support streams: logd answers with a pipe, which web clients cannot
                // receive.
                if args.get("stream").and_then(Value::as_bool) != Some(false) {
                    return Ok(Map::new());
                }
                let lines = args.get("lines").and_then(Value::as_u64).unwrap_or(0);
                let lines = usize::try_from(lines).ok().filter(|lines| *lines != 0);
                let skipped =
                    self.messages.len() - lines.unwrap_or(MAX_MESSAGES).min(self.messages.len());
                let entry = |message: &Message| {
                    json!({"msg": message.text, "id": message.id, "priority": message.priority,
                        "source": SOURCE_SYSLOG, "time": message.time_ms})
                };
                let log: Vec<Value> = self.messages.iter().skip(skipped).map(entry).collect();
                Ok(Map::from_iter([("log".to_owned(), Value::Array(log))]))
            }
            "write" => {
                let (priority, text) = datagram(text(args, "event").unwrap_or_default());
                self.add(priority, &text);
                Ok(Map::new())
            }
            _ => Err(Status::MethodNotFound),
        }
    }
}

/// Splits `<30>Nov 21 23:00:00 pppd[1]: text` into priority and text, dropping the time.
fn datagram(text: &str) -> (u32, String) {
    let rest = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let (priority, rest) = match rest.map(|(number, rest)| (number.parse(), rest)) {
        Some((Ok(priority), rest)) => (priority, rest),
        _ => (USER_NOTICE, text),
    };
    // The C library's timestamp has 16 characters, including the trailing space.
    let bytes = rest.as_bytes();
    let timed = bytes.len() > 16 && bytes[15] == b' ' && bytes[3] == b' ' && bytes[12] == b':';
    let text = if timed { rest.get(16..).unwrap_or(rest) } else { rest };
    (priority, text.trim_end_matches('\0').to_owned())
}
