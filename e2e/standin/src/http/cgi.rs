// SPDX-License-Identifier: GPL-2.0-or-later
//! cgi-io's programs `cgi-backup`, `cgi-download` and `cgi-upload` below `/cgi-bin`. The session ID
//! is in the body; it needs a right in scope `cgi-io` and, for a path, in `file`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::body::{self, Payload};
use super::form::{self, Part};
use super::gateway::Gateway;
use crate::exec::Program;
use crate::file::canonical;

const PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn answer(
    gateway: &Gateway,
    name: &str,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Response<Payload> {
    let answer = match name {
        "cgi-backup" => backup(gateway, bytes).await,
        "cgi-download" => download(gateway, bytes).await,
        "cgi-upload" => Ok(upload(gateway, headers, bytes).await),
        _ => Err((StatusCode::NOT_FOUND, "The requested URL was not found on this server.")),
    };
    answer.unwrap_or_else(|(status, words)| plain(status, &format!("{words}\n")))
}

type Rejection = (StatusCode, &'static str);

fn plain(status: StatusCode, text: &str) -> Response<Payload> {
    body::with_type(body::sized(status, text.as_bytes().to_vec()), "text/plain")
}

fn attached(bytes: Vec<u8>, kind: &str, name: Option<&str>) -> Response<Payload> {
    let mut response = body::sized(StatusCode::OK, bytes);
    if let Ok(kind) = HeaderValue::from_str(kind) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    let disposition = name.map(|name| format!("attachment; filename=\"{name}\""));
    if let Some(value) = disposition.and_then(|text| HeaderValue::from_str(&text).ok()) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}

async fn may(gateway: &Gateway, session: Option<&str>, right: (&str, &str, &str)) -> bool {
    match session {
        Some(session) => gateway.may(session, right.0, right.1, right.2).await,
        None => false,
    }
}

async fn backup(gateway: &Gateway, bytes: &[u8]) -> Result<Response<Payload>, Rejection> {
    let fields = form::fields(bytes);
    let session = fields.get("sessionid").map(String::as_str);
    if !may(gateway, session, ("cgi-io", "backup", "read")).await {
        return Err((StatusCode::FORBIDDEN, "Backup permission denied"));
    }
    let program = Program::new("/sbin/sysupgrade", &["--create-backup", "-"]);
    let made = program.run(PROGRAM_TIMEOUT).await;
    let made = made.map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, "Failed to fork process"))?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let day = httpdate::fmt_http_date(std::time::SystemTime::now());
    let name = format!("backup-{}-{}.tar.gz", host.trim(), iso_day(&day));
    Ok(attached(made.stdout, "application/x-targz", Some(&name)))
}

fn iso_day(date: &str) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = date.split(' ').skip(1);
    let (day, month, year) = (words.next(), words.next(), words.next());
    let month = month.and_then(|month| MONTHS.find(month)).map_or(0, |at| at / 3 + 1);
    format!("{}-{month:02}-{}", year.unwrap_or_default(), day.unwrap_or_default())
}

async fn download(gateway: &Gateway, bytes: &[u8]) -> Result<Response<Payload>, Rejection> {
    let fields = form::fields(bytes);
    let field = |name| fields.get(name).map(String::as_str);
    let session = field("sessionid");
    if !may(gateway, session, ("cgi-io", "download", "read")).await {
        return Err((StatusCode::FORBIDDEN, "Download permission denied"));
    }
    let path = field("path").unwrap_or_default();
    if path.is_empty() || !may(gateway, session, ("file", path, "read")).await {
        return Err((StatusCode::FORBIDDEN, "Access to path denied by ACL"));
    }
    let only = |text: Option<&str>, more: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        text.is_none_or(|text| text.chars().all(fits))
    };
    if !only(field("filename"), " ()<>@,;:[]?.=%-") {
        return Err((StatusCode::BAD_REQUEST, "Invalid characters in filename"));
    }
    if !only(field("mimetype"), " .;=/-") {
        return Err((StatusCode::BAD_REQUEST, "Invalid characters in mimetype"));
    }
    let missing = |_| (StatusCode::NOT_FOUND, "Failed to stat requested path");
    if !std::fs::metadata(path).map_err(missing)?.is_file() {
        let words = "Requested path is not a regular file or block device";
        return Err((StatusCode::FORBIDDEN, words));
    }
    let bytes = std::fs::read(path).map_err(missing)?;
    let kind = field("mimetype").unwrap_or("application/octet-stream");
    Ok(attached(bytes, kind, field("filename")))
}

async fn upload(gateway: &Gateway, headers: &HeaderMap, bytes: &[u8]) -> Response<Payload> {
    match take(gateway, headers, bytes).await {
        Ok(path) => plain(StatusCode::OK, &format!("{}\n", received(&path).await)),
        Err((words, code)) => {
            let cause = std::io::Error::from_raw_os_error(code).to_string();
            let cause = cause.split(" (os error").next().unwrap_or_default().to_owned();
            let answer = json!({"message": words, "failure": [code, cause]});
            plain(StatusCode::OK, &format!("{answer}\n"))
        }
    }
}

/// Handles the parts in order. Like cgi-io, rejects data that precedes the session or the name.
async fn take(
    gateway: &Gateway,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<String, (&'static str, i32)> {
    let boundary = form::boundary(headers).ok_or(("Invalid request", libc::EINVAL))?;
    let (mut session, mut path, mut mode) = (None, None, 0o600);
    for Part { name, data } in form::parts(bytes, &boundary) {
        let text = || String::from_utf8_lossy(data).into_owned();
        match name.as_str() {
            "sessionid" => {
                let id = text();
                if !may(gateway, Some(&id), ("cgi-io", "upload", "write")).await {
                    return Err(("Upload permission denied", libc::EPERM));
                }
                session = Some(id);
            }
            "filename" => path = Some(canonical(&text())),
            "filemode" => mode = u32::from_str_radix(&text(), 8).unwrap_or(0o600),
            "filedata" => {
                let id = session.as_deref().ok_or(("File data without session", 0))?;
                let path = path.ok_or(("File data without name", 0))?;
                if !may(gateway, Some(id), ("file", &path, "write")).await {
                    return Err(("Access to path denied by ACL", 0));
                }
                if data.is_empty() {
                    return Err(("No file data received", libc::EINVAL));
                }
                put(&path, data, mode).map_err(|error| {
                    ("Failed to open target file", error.raw_os_error().unwrap_or(libc::EIO))
                })?;
                return Ok(path);
            }
            _ => {}
        }
    }
    Err(("Invalid request", libc::EINVAL))
}

fn put(path: &str, data: &[u8], mode: u32) -> std::io::Result<()> {
    // Remove the file first: writing to a link would change its target.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::write(path, data)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Returns size and checksums of an uploaded file.
async fn received(path: &str) -> serde_json::Value {
    let sum = async |program: &str| {
        let outcome =
            Program::new(crate::exec::lookup(program)?, &[path]).run(PROGRAM_TIMEOUT).await.ok()?;
        let words = String::from_utf8(outcome.stdout).ok()?;
        words.split(' ').next().map(str::to_owned)
    };
    let size = std::fs::metadata(Path::new(path)).ok().map(|meta| meta.len());
    json!({"size": size, "checksum": sum("md5sum").await, "sha256sum": sum("sha256sum").await})
}
