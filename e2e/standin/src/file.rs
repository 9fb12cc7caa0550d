// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `file` of rpcd's plug-in. Sessions need a right to the path in scope `file`;
//! calls without a session are allowed.

use std::fs::{FileType, Metadata};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::time::Duration;

use serde_json::{Value, json};
use ubus::{Argument, Map, Method, PolicyType, Status};

use crate::accounts;
use crate::exec::{self, Program, status};
use crate::reply::{Answer, text};
use crate::session::Sessions;

/// Maximum size of a readable file, in bytes.
const MAX_SIZE: usize = 4096 * 64;
const SESSION: Argument = ("ubus_rpc_session", PolicyType::String);
const PATH: Argument = ("path", PolicyType::String);

pub const METHODS: &[Method] = &[
    Method { name: "read", policy: &[PATH, ("base64", PolicyType::Bool), SESSION] },
    Method {
        name: "write",
        policy: &[
            PATH,
            ("data", PolicyType::String),
            ("append", PolicyType::Bool),
            ("mode", PolicyType::Int32),
            ("base64", PolicyType::Bool),
            SESSION,
        ],
    },
    Method { name: "list", policy: &[PATH, SESSION] },
    Method {
        name: "exec",
        policy: &[
            ("command", PolicyType::String),
            ("params", PolicyType::Array),
            ("env", PolicyType::Table),
            SESSION,
        ],
    },
];

/// The caller's session, for access control.
pub struct Caller<'a> {
    pub sessions: &'a mut Sessions,
    pub now: Duration,
}

impl Caller<'_> {
    fn may(&mut self, args: &Map, path: &str, right: &str) -> bool {
        let Some(id) = text(args, "ubus_rpc_session") else { return true };
        self.sessions.allow(id, "file", path, right, self.now)
    }

    fn path(&mut self, args: &Map, right: &str) -> Result<String, Status> {
        let path = text(args, "path").filter(|path| !path.is_empty());
        let path = canonical(path.ok_or(Status::InvalidArgument)?);
        if self.may(args, &path, right) { Ok(path) } else { Err(Status::PermissionDenied) }
    }
}

/// Normalises `/a/./b//../c` to `/a/c` without resolving links.
pub(crate) fn canonical(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Answers a call of any method except `exec`.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(mut caller: Caller<'_>, (method, args): (&str, &Map)) -> Answer {
    match method {
        "read" => read(&caller.path(args, "read")?),
        "write" => write(&caller.path(args, "write")?, args),
        "list" => list(&caller.path(args, "list")?),
        _ => Err(Status::MethodNotFound),
    }
}

fn read(path: &str) -> Answer {
    let length = std::fs::metadata(path).map_err(status)?.len();
    if usize::try_from(length).is_ok_and(|length| length >= MAX_SIZE) {
        return Err(Status::NotSupported);
    }
    let bytes = std::fs::read(path).map_err(status)?;
    if bytes.is_empty() {
        return Err(Status::NoData);
    }
    Ok(Map::from_iter([("data".to_owned(), json!(String::from_utf8_lossy(&bytes)))]))
}

fn write(path: &str, args: &Map) -> Answer {
    let data = text(args, "data").ok_or(Status::InvalidArgument)?;
    let append = args.get("append").and_then(Value::as_bool).unwrap_or(false);
    let mode = args.get("mode").and_then(Value::as_u64).unwrap_or(0o666);
    let mode = u32::try_from(mode).map_err(|_| Status::InvalidArgument)?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).write(true).append(append).truncate(!append).mode(mode);
    let mut file = options.open(path).map_err(status)?;
    file.write_all(data.as_bytes()).and_then(|()| file.sync_all()).map_err(status)?;
    Ok(Map::new())
}

fn list(path: &str) -> Answer {
    let entry = |entry: std::fs::DirEntry| {
        let meta = entry.metadata().ok()?;
        let name = json!(entry.file_name().to_string_lossy());
        let mut map = Map::from_iter([("name".to_owned(), name)]);
        map.extend(describe(&meta));
        if meta.is_symlink() {
            let name = std::fs::read_link(entry.path()).unwrap_or_default();
            let mut target = Map::from_iter([("name".to_owned(), json!(name.to_string_lossy()))]);
            match std::fs::metadata(entry.path()) {
                Ok(meta) => target.extend(describe(&meta)),
                Err(_) => drop(target.insert("type".to_owned(), json!("broken"))),
            }
            map.insert("target".to_owned(), Value::Object(target));
        }
        Some(Value::Object(map))
    };
    let entries = std::fs::read_dir(path).map_err(status)?;
    let entries: Vec<Value> = entries.flatten().filter_map(entry).collect();
    Ok(Map::from_iter([("entries".to_owned(), Value::Array(entries))]))
}

fn kind(kind: FileType) -> &'static str {
    [
        (kind.is_file(), "file"),
        (kind.is_dir(), "directory"),
        (kind.is_symlink(), "symlink"),
        (kind.is_char_device(), "char"),
        (kind.is_block_device(), "block"),
        (kind.is_fifo(), "fifo"),
        (kind.is_socket(), "socket"),
    ]
    .into_iter()
    .find_map(|(is, name)| is.then_some(name))
    .unwrap_or("unknown")
}

fn describe(meta: &Metadata) -> Map {
    let owner = accounts::peer(meta.uid(), meta.gid());
    let map = json!({
        "type": kind(meta.file_type()),
        "size": meta.size(),
        "mode": meta.permissions().mode(),
        "atime": meta.atime(),
        "mtime": meta.mtime(),
        "ctime": meta.ctime(),
        "inode": meta.ino(),
        "uid": meta.uid(),
        "gid": meta.gid(),
        "user": owner.user,
        "group": owner.group,
    });
    map.as_object().cloned().unwrap_or_default()
}

/// Returns the program of an `exec` call. The caller needs a right to the command, or to the
/// command with exactly these arguments.
///
/// # Errors
/// Returns the status for the caller.
pub fn program(mut caller: Caller<'_>, args: &Map) -> Result<Program, Status> {
    let command = text(args, "command").ok_or(Status::InvalidArgument)?;
    if args.contains_key("ubus_rpc_session") && args.contains_key("env") {
        return Err(Status::PermissionDenied);
    }
    let path = exec::lookup(command).ok_or(Status::NotFound)?;
    let path = canonical(&path.to_string_lossy());
    let words = args.get("params").and_then(Value::as_array);
    let words: Vec<&str> = words.into_iter().flatten().filter_map(Value::as_str).collect();
    let line = [&[path.as_str()], &words[..]].concat().join(" ");
    if caller.may(args, &path, "exec")
        || (args.contains_key("params") && caller.may(args, &line, "exec"))
    {
        Ok(Program::new(path, &words))
    } else {
        Err(Status::PermissionDenied)
    }
}
