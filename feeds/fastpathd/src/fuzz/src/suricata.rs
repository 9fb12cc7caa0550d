// SPDX-License-Identifier: GPL-2.0-or-later
//! Suricata's events, answers on its command socket, and the kernel's list of queues.

use std::time::Duration;

use ips::{
    AlertFilter, Batch, Event, Events, Rates, Reader, SuricataCounters, WantedKinds, parse_queues,
    queues_of, read_answer, read_event, read_failed_rules, read_rules,
};

/// Reads a stream of events within bounded memory.
pub(crate) fn eve(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(Event::Alert(alert)) = read_event(line) {
            assert!(alert.signature.len() <= 256 && alert.target.len() <= 256);
        }
    }
    let mut reader = Reader::new(Rates::default());
    let wanted = WantedKinds::default();
    wanted.set(|_| true);
    reader.keep(wanted);
    let mut batch = Batch::default();
    let (one, other) = bytes.split_at(bytes.len() / 3);
    reader.read(Duration::ZERO, one, &mut batch);
    reader.read(Duration::from_millis(1), other, &mut batch);
    batch.counts = reader.counts();
    assert!(batch.lines.iter().all(|line| std::str::from_utf8(&line.text).is_ok()));
    let mut events = Events::default();
    events.take(Duration::ZERO, batch);
    let filter = AlertFilter { text: Some("a".to_owned()), ..AlertFilter::default() };
    let mut restored = ips::Alerts::default();
    restored.restore(&String::from_utf8_lossy(bytes));
    restored.restore(&events.alerts.save());
    assert!(events.alerts.page(&filter, 10, 0, &()).alerts.len() <= 10);
}

pub(crate) fn command(bytes: &[u8]) {
    match read_answer("fuzz", bytes) {
        Ok(message) => {
            let _ = read_rules(&message);
            let failed = read_failed_rules(&message).unwrap_or_default();
            assert!(failed.len() <= 32 && failed.iter().all(|rule| rule.rule.len() <= 256));
            let _ = SuricataCounters::read(&message);
        }
        Err(error) => assert!(error.to_string().len() < 1000),
    }
}

pub(crate) fn queues(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let queues = parse_queues(&text);
    assert!(queues.len() <= text.lines().count());
    assert_eq!(queues_of(&queues, 0..=3).len(), 4);
}
