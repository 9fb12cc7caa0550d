// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `log`, logd's: the newest messages of the kernel's and the programs' log, in
//! memory. Programs send theirs to a socket. Lines that a supervisor writes to `NAME.log`
//! and `NAME.err.log` are read as procd would pass them on, so that they are there as well.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::{Answer, text};

/// Messages that are kept; logd keeps 128 KiB by default.
const KEPT: usize = 1500;
/// Longest message.
const LONGEST: usize = 1024;
/// `daemon.info` and `daemon.err`, procd's priorities for the lines that a service prints on its
/// standard output and on its standard error.
const DAEMON_INFO: u32 = 30;
const DAEMON_ERR: u32 = 27;
/// `user.notice`, for a message that names no priority.
const USER_NOTICE: u32 = 13;
/// logd's number for messages of programs.
const SOURCE_SYSLOG: u32 = 1;

/// logd's methods.
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

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    id: u32,
    priority: u32,
    time_ms: u64,
    text: String,
}

/// The log.
#[derive(Debug, Default)]
pub struct Log {
    messages: VecDeque<Message>,
    next: u32,
    socket: Option<UnixDatagram>,
    folder: Option<PathBuf>,
    /// How far each file has been read.
    read: BTreeMap<PathBuf, u64>,
}

impl Log {
    /// A log that listens at `socket` and reads the files of `folder`. A source that fails is
    /// reported and left out.
    #[must_use]
    pub fn new(socket: Option<&Path>, folder: Option<PathBuf>) -> Log {
        let listen = |path: &Path| {
            // Of a run before.
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
        let text: String = text.trim_end().chars().take(LONGEST).collect();
        if text.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let text = text.replace('\n', " ");
        self.messages.push_back(Message { id: self.next, priority, time_ms, text });
        self.next = self.next.wrapping_add(1);
        if self.messages.len() > KEPT {
            self.messages.pop_front();
        }
    }

    /// Takes in the messages that programs have sent and written since the last time.
    pub fn take_in(&mut self) {
        let mut buffer = [0; LONGEST * 4];
        while let Some(Ok(length)) = self.socket.as_ref().map(|socket| socket.recv(&mut buffer)) {
            let (priority, text) = datagram(&String::from_utf8_lossy(&buffer[..length]));
            self.add(priority, &text);
        }
        let Some(entries) = self.folder.as_ref().and_then(|f| std::fs::read_dir(f).ok()) else {
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            self.take_up(&path);
        }
    }

    /// The new lines of a file, under its name. pppd writes to the socket as well.
    fn take_up(&mut self, path: &Path) {
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
        // A file that has become shorter was truncated.
        let from = if length < known { 0 } else { known };
        let mut bytes = Vec::new();
        if length == from
            || file.seek(SeekFrom::Start(from)).is_err()
            || file.take(1 << 20).read_to_end(&mut bytes).is_err()
        {
            return;
        }
        // An unfinished line is read again when it is finished.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read.insert(path.to_owned(), from + end as u64);
        for line in String::from_utf8_lossy(&bytes[..end]).lines() {
            // `logger` has put the name of its caller before it.
            let line = if name == "messages" { line.to_owned() } else { format!("{name}: {line}") };
            self.add(priority, &line);
        }
    }

    /// Answers one call.
    ///
    /// # Errors
    /// The status that the caller gets.
    pub fn answer(&mut self, (method, args): (&str, &Map)) -> Answer {
        self.take_in();
        match method {
            "read" => {
                // logd hands a pipe to who wants a stream; over the web nobody can take one.
                if args.get("stream").and_then(Value::as_bool) != Some(false) {
                    return Ok(Map::new());
                }
                let lines = args.get("lines").and_then(Value::as_u64).unwrap_or(0);
                let lines = usize::try_from(lines).ok().filter(|lines| *lines != 0);
                let skipped = self.messages.len() - lines.unwrap_or(KEPT).min(self.messages.len());
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

/// `<30>Nov 21 23:00:00 pppd[1]: text` as priority and text without the time.
fn datagram(text: &str) -> (u32, String) {
    let rest = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let (priority, rest) = match rest.map(|(number, rest)| (number.parse(), rest)) {
        Some((Ok(priority), rest)) => (priority, rest),
        _ => (USER_NOTICE, text),
    };
    // The C library's time has sixteen characters, the last one a space.
    let bytes = rest.as_bytes();
    let timed = bytes.len() > 16 && bytes[15] == b' ' && bytes[3] == b' ' && bytes[12] == b':';
    let text = if timed { rest.get(16..).unwrap_or(rest) } else { rest };
    (priority, text.trim_end_matches('\0').to_owned())
}
