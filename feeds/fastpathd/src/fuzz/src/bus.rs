// SPDX-License-Identifier: GPL-2.0-or-later
//! ubus messages: frames of ubusd, requests of the page, logins, answers of netifd.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::runtime::Runtime;
use ubus::{Blobmsg, Decoder};

use crate::{object, parts};

/// Decodes a stream of frames, and encodes the decoded messages again.
pub(crate) fn blobmsg(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    decoder.extend(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        for table in [frame.data(), frame.signature()].into_iter().flatten() {
            // Encoding may exceed the limit, because decoding lengthens invalid UTF-8.
            if let Ok(map) = table.decode()
                && let Ok(written) = Blobmsg::encode(&map)
            {
                assert_eq!(written.decode().as_ref(), Ok(&map));
            }
        }
    }
}

/// Handles a request to the daemon: a line with the method, and its arguments.
pub(crate) fn request(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (method, args) = text.split_once('\n').unwrap_or((&text, ""));
    // `doctor` is answered by another program.
    let method = gateway::fuzz::methods().find(|known| *known == method && method != "doctor");
    if let (Some(method), Some(args)) = (method, object(args)) {
        let _ = gateway::fuzz::request(method, args);
    }
}

/// Attempts logins with arguments of `fastpath.access login`. Without rpcd none succeeds.
pub(crate) fn login(bytes: &[u8]) {
    thread_local! {
        static LOGIN_STATE: LoginState = LoginState::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let parts = parts(&text);
    let of = |name: &str| parts.iter().find(|(known, _)| known.trim() == name).map(|(_, of)| of);
    let Some(args) = of("login").and_then(|text| object(text)) else { return };
    LOGIN_STATE.with(|LoginState { folder, runtime }| {
        // Only root writes the record, but a power cut may corrupt it.
        fs::write(folder.join("failures"), of("record").unwrap_or(&"")).expect("the record");
        let answer = runtime.block_on(access::fuzz::attempt(args, folder));
        assert!(answer.is_err_and(|refusal| refusal.code != "denied"));
    });
}

/// Folder and runtime for logins, created once per thread for speed.
struct LoginState {
    /// Record of failures and key, in memory if possible.
    folder: PathBuf,
    runtime: Runtime,
}

impl LoginState {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let thread = format!("{:?}", std::thread::current().id());
        let folder = parent.join(format!("fuzz-login-{}-{thread}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the record of logins");
        fs::write(folder.join("access.key"), [7; 64]).expect("the key");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self { folder, runtime: runtime.expect("a runtime") }
    }
}

impl Drop for LoginState {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn netifd(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, second) = text.split_once('\n').unwrap_or((&text, ""));
    let (Some(one), other) = (object(first), object(second).unwrap_or_default()) else { return };
    let _ = wireless::fuzz::radios(&one);
    for config in ["fastpath", "firewall", "network", "wireless"] {
        if let Some(kept) = fastpath_config::fuzz::excerpt(config, &one) {
            assert!(kept.len() <= one.len());
        }
    }
    let _ = gateway::fuzz::interfaces(&Value::Object(one), &Value::Object(other));
}
