// SPDX-License-Identifier: GPL-2.0-or-later
//! Static files with uhttpd's headers: ETag and Last-Modified, without compression or cache
//! control.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::header::{
    DATE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
};
use hyper::{Response, StatusCode};

use super::body::{self, Payload};

const TYPES: [(&str, &str); 16] = [
    ("css", "text/css"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("mjs", "text/javascript"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("webmanifest", "application/manifest+json"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

/// Answers a `GET` of `path`, which is still percent-encoded, below `root`.
pub(crate) fn get(root: &Path, path: &str, headers: &HeaderMap) -> Response<Payload> {
    let not_found = || {
        body::error_page(StatusCode::NOT_FOUND, "The requested URL was not found on this server.")
    };
    let Some(relative) = decode(path).and_then(|path| below(&path)) else { return not_found() };
    let mut file = root.join(relative);
    let (Ok(real), Ok(real_root)) = (file.canonicalize(), root.canonicalize()) else {
        return not_found();
    };
    if !real.starts_with(real_root) {
        return not_found();
    }
    if file.is_dir() {
        if !path.ends_with('/') {
            return moved(path);
        }
        file.push("index.html");
    }
    let Ok(meta) = std::fs::metadata(&file) else { return not_found() };
    if !meta.is_file() {
        return not_found();
    }
    let mut response = if is_known(&meta, headers) {
        body::sized(StatusCode::NOT_MODIFIED, Vec::new())
    } else {
        match std::fs::read(&file) {
            Ok(bytes) => body::with_type(body::sized(StatusCode::OK, bytes), kind(&file)),
            Err(_) => return body::error_page(StatusCode::FORBIDDEN, "You don't have permission."),
        }
    };
    stamp(response.headers_mut(), &meta);
    response
}

fn moved(path: &str) -> Response<Payload> {
    let mut response = body::sized(StatusCode::FOUND, Vec::new());
    if let Ok(location) = HeaderValue::from_str(&format!("{path}/")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn stamp(headers: &mut HeaderMap, meta: &Metadata) {
    let mut insert = |name, text: String| {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    };
    insert(ETAG, tag(meta));
    insert(LAST_MODIFIED, httpdate::fmt_http_date(modified(meta)));
    insert(DATE, httpdate::fmt_http_date(SystemTime::now()));
}

fn tag(meta: &Metadata) -> String {
    format!("\"{:x}-{:x}-{:x}\"", meta.ino(), meta.size(), meta.mtime())
}

/// Returns the modification time in whole seconds, like HTTP headers.
fn modified(meta: &Metadata) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(meta.mtime()).unwrap_or(0))
}

/// Returns whether the browser has cached this version.
fn is_known(meta: &Metadata, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(tags) = text(&IF_NONE_MATCH) {
        let own = tag(meta);
        return tags.split(',').any(|known| known.trim() == own || known.trim() == "*");
    }
    let since = text(&IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
    since.is_some_and(|since| modified(meta) <= since)
}

fn kind(file: &Path) -> &'static str {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let of = |extension: String| TYPES.iter().find(|(known, _)| *known == extension);
    extension.and_then(of).map_or("application/octet-stream", |(_, kind)| kind)
}

/// Decodes `%41` to `A`. `None` for an invalid escape, NUL or invalid UTF-8.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Removes leading slashes. `None` if the path leads upwards.
fn below(path: &str) -> Option<PathBuf> {
    let relative = Path::new(path.trim_start_matches('/'));
    let stays = relative.components().all(|part| matches!(part, Component::Normal(_)));
    stays.then(|| relative.to_owned())
}
