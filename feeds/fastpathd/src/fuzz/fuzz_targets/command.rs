// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as an answer on Suricata's command socket.
#![no_main]

use ips::{SuricataCounters, read_answer, read_failed_rules, read_rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match read_answer("fuzz", bytes) {
        Ok(message) => {
            let _ = read_rules(&message);
            let failed = read_failed_rules(&message).unwrap_or_default();
            assert!(failed.len() <= 32 && failed.iter().all(|rule| rule.rule.len() <= 256));
            let _ = SuricataCounters::read(&message);
        }
        Err(error) => assert!(error.to_string().len() < 1000),
    }
});
