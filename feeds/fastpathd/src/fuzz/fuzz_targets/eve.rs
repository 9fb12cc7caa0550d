// SPDX-License-Identifier: GPL-2.0-or-later
//! Any bytes as Suricata's events: no panic, and memory stays bounded.
#![no_main]

use std::time::Duration;

use ips::{AlertFilter, Batch, Event, Events, Rates, Reader, read_event};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(Event::Alert(alert)) = read_event(line) {
            assert!(alert.signature.len() <= 256 && alert.target.len() <= 256);
        }
    }
    let mut reader = Reader::new(Rates::default());
    let mut batch = Batch::default();
    // Cut somewhere, as a stream is.
    let (one, other) = bytes.split_at(bytes.len() / 3);
    reader.read(Duration::ZERO, one, &mut batch.events);
    reader.read(Duration::from_millis(1), other, &mut batch.events);
    batch.counts = reader.counts();
    let mut events = Events::default();
    events.take(Duration::ZERO, batch);
    let filter = AlertFilter { text: Some("a".to_owned()), ..AlertFilter::default() };
    let mut restored = ips::Alerts::default();
    restored.restore(&String::from_utf8_lossy(bytes));
    restored.restore(&events.alerts.save());
    assert!(events.alerts.page(&filter, 10, 0, &()).alerts.len() <= 10);
});
