// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages over ubus: frames of ubusd, requests of the page, logins, answers of netifd.

use serde_json::Value;
use ubus::{Blobmsg, Decoder};

use crate::{object, parts};

/// A stream of frames. Decoded messages can be encoded again.
pub(crate) fn blobmsg(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    decoder.extend(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        for table in [frame.data(), frame.signature()].into_iter().flatten() {
            // Bytes that are not UTF-8 grow when they are read, so writing may hit the limit.
            if let Ok(map) = table.decode()
                && let Ok(written) = Blobmsg::encode(&map)
            {
                assert_eq!(written.decode().as_ref(), Ok(&map));
            }
        }
    }
}

/// `METHOD` and a line with its arguments, as uhttpd passes them on to the daemon.
pub(crate) fn request(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (method, args) = text.split_once('\n').unwrap_or((&text, ""));
    // `doctor` is answered by a thread of its own.
    let method = fastpathd::fuzz::methods().find(|known| *known == method && method != "doctor");
    if let (Some(method), Some(args)) = (method, object(args)) {
        let _ = fastpathd::fuzz::request(method, args);
    }
}

/// Arguments of `fastpath.access login`. Without rpcd nobody gets in.
pub(crate) fn login(bytes: &[u8]) {
    let folder = std::env::temp_dir().join(format!("fuzz-login-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the record of logins");
    let text = String::from_utf8_lossy(bytes);
    let parts = parts(&text);
    let of = |name: &str| parts.iter().find(|(known, _)| known.trim() == name).map(|(_, of)| of);
    // The record is a file of root's, but a power cut may leave any bytes of it.
    let record = of("record").unwrap_or(&"");
    std::fs::write(folder.join("failures"), record).expect("the record");
    std::fs::write(folder.join("access.key"), [7; 64]).expect("the key");
    if let Some(args) = of("login").and_then(|text| object(text)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let answer = runtime.expect("a runtime").block_on(access::fuzz::attempt(args, &folder));
        assert!(answer.is_err_and(|refusal| refusal.code != "denied"));
    }
    std::fs::remove_dir_all(&folder).expect("only this process uses it");
}

/// netifd's interfaces and radios, the firewall's configuration, and the excerpts of it.
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
    let _ = fastpathd::fuzz::interfaces(&Value::Object(one), &Value::Object(other));
}
