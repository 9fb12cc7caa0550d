// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests event exporters with log collectors over the loopback device.

use ips::{EventKind, EventLine};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::tests::{Bench, LONG, in_loop};
use super::*;
use crate::export::events::tests::settings;

struct Collector {
    listener: TcpListener,
    bench: Bench,
}

impl Collector {
    async fn new(options: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = format!("\toption port '{port}'\n{options}");
        let bench = Bench::of(settings("syslog", "127.0.0.1", &options));
        Self { listener, bench }
    }

    async fn accept(&self) -> TcpStream {
        timeout(LONG, self.listener.accept()).await.unwrap().unwrap().0
    }

    fn forward(&self, numbers: std::ops::Range<usize>, size: usize) {
        let lines: Vec<EventLine> = numbers
            .map(|number| {
                let kind = if number % 2 == 0 { EventKind::Alert } else { EventKind::Flow };
                let text = format!("{{\"n\":{number},\"x\":\"{}\"}}", "x".repeat(size));
                EventLine { kind, text: text.as_bytes().into() }
            })
            .collect();
        self.bench.exporters.running[0].1.forward(&lines);
    }
}

/// Reads a syslog message with its length prefix.
async fn syslog(stream: &mut TcpStream) -> String {
    let mut length = String::new();
    loop {
        match timeout(LONG, stream.read_u8()).await.unwrap().unwrap() {
            b' ' => break,
            digit => length.push(char::from(digit)),
        }
    }
    let mut message = vec![0; length.parse().unwrap()];
    timeout(LONG, stream.read_exact(&mut message)).await.unwrap().unwrap();
    String::from_utf8(message).unwrap()
}

fn number(message: &str) -> usize {
    let rest = message.split_once("\"n\":").unwrap().1;
    rest.split_once(',').unwrap().0.parse().unwrap()
}

#[test]
fn a_collector_that_restarts_gets_all_events() {
    in_loop(async {
        let mut collector = Collector::new("").await;
        let mut stream = collector.accept().await;
        collector.bench.up().await;
        collector.forward(0..4, 100);
        assert_eq!(number(&syslog(&mut stream).await), 0);
        let message = syslog(&mut stream).await;
        assert!(message.starts_with("<28>1 - ") && message.contains(" suricata - alert - {"));
        assert_eq!(number(&message), 2, "alerts only");
        collector.bench.until("sent", |progress| progress.sent == 2).await;
        drop(stream);
        collector.bench.until("down", |progress| progress.state == ExportState::Down).await;
        assert_eq!(collector.bench.last.reason, Some(ExportReason::Closed));
        collector.forward(4..8, 100);
        let mut stream = collector.accept().await;
        assert_eq!(number(&syslog(&mut stream).await), 4);
        assert_eq!(number(&syslog(&mut stream).await), 6);
        collector.bench.until("sent", |progress| progress.sent == 4).await;
        assert_eq!((collector.bench.last.lost, collector.bench.last.queued), (0, 0));
    });
}

/// Events that do not fit are counted; all others arrive after the collector resumes reading.
#[test]
fn a_collector_that_does_not_read_loses_events() {
    in_loop(async {
        let mut collector = Collector::new("\tlist event 'flow'\n").await;
        let mut stream = collector.accept().await;
        collector.bench.up().await;
        let mut made = 0;
        // Losses begin with full buffers, before the collector counts as stalled.
        while collector.bench.last.reason != Some(ExportReason::Stalled) {
            collector.forward(made..made + 20, 50_000);
            made += 20;
            assert!(made < 200_000, "{:?}", collector.bench.last);
            sleep(Duration::from_millis(10)).await;
            if let Ok(Some(AnyEvent::Export(Event::Progress(_, progress)))) =
                timeout(Duration::from_millis(1), collector.bench.reports.recv()).await
            {
                collector.bench.last = progress;
            }
        }
        let lines = collector.bench.exporters.running[0].1.lines.borrow().waiting();
        assert!(lines <= logs::MAX_WAITING && lines > logs::MAX_WAITING - 100_000);
        let flows = made as u64 / 2;
        let shared = collector.bench.exporters.running[0].1.clone();
        let arriving = flows - shared.dropped.get();
        assert!(shared.dropped.get() > 0);
        let mut numbers = std::collections::BTreeSet::new();
        let read = async {
            for _ in 0..arriving {
                numbers.insert(number(&syslog(&mut stream).await));
            }
        };
        // The exporter blocks unless its reports are received.
        tokio::join!(read, collector.bench.until("sent", |progress| progress.sent == arriving));
        assert_eq!(numbers.len() as u64, arriving);
        let Progress { lost, queued, .. } = collector.bench.last;
        assert_eq!((lost + arriving, queued), (flows, 0));
    });
}

fn count_complete(mut bytes: &[u8]) -> usize {
    let mut messages = 0;
    while let Some(space) = bytes.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&bytes[..space]).unwrap().parse().unwrap();
        let Some(rest) = bytes.get(space + 1 + length..) else { break };
        (bytes, messages) = (rest, messages + 1);
    }
    messages
}

/// The kernel of a collector that does not read accepts one receive buffer of data.
#[test]
fn unacknowledged_events_are_sent_again() {
    in_loop(async {
        let mut collector = Collector::new("").await;
        rustix::net::sockopt::set_socket_recv_buffer_size(&collector.listener, 8192).unwrap();
        let stream = collector.accept().await;
        collector.forward(0..200, 1000);
        collector.bench.until("sent", |progress| progress.sent > 0).await;
        let mut bytes = vec![0; 1 << 20];
        let length = stream.peek(&mut bytes).await.unwrap();
        let acknowledged = count_complete(&bytes[..length]);
        assert!((1..50).contains(&acknowledged), "{acknowledged}");
        let Progress { sent, queued, .. } = collector.bench.last;
        assert_eq!((sent, queued), (acknowledged as u64, 100 - acknowledged as u64));
        drop(stream);
        let mut stream = collector.accept().await;
        for alert in acknowledged..100 {
            assert_eq!(number(&syslog(&mut stream).await), 2 * alert);
        }
    });
}

#[test]
fn events_of_a_connection_that_ended_too_early_are_sent_again() {
    in_loop(async {
        let mut collector = Collector::new("").await;
        let mut stream = collector.accept().await;
        collector.forward(0..1, 10);
        assert_eq!(number(&syslog(&mut stream).await), 0);
        collector.bench.pass(13).await;
        drop(stream);
        collector.bench.until("down", |progress| progress.state == ExportState::Down).await;
        collector.bench.pass(4).await;
        assert_eq!((collector.bench.last.sent, collector.bench.last.queued), (0, 1));
        let mut stream = collector.accept().await;
        assert_eq!(number(&syslog(&mut stream).await), 0);
    });
}

#[test]
fn a_collector_that_accepts_and_closes_connections_is_never_up() {
    in_loop(async {
        let mut collector = Collector::new("").await;
        collector.forward(0..1, 10);
        for _ in 0..2 {
            let stream = collector.accept().await;
            collector.bench.pass(12).await;
            drop(stream);
            collector.bench.until("down", |progress| progress.reason.is_some()).await;
            assert!(!collector.bench.was_up);
        }
    });
}

#[test]
fn only_event_types_that_collectors_take_are_wanted() {
    in_loop(async {
        let none = std::path::PathBuf::new;
        let paths = crate::io::Paths {
            socket: none(),
            config: none(),
            leases: none(),
            history: none(),
            run: none(),
            commands: none(),
            own_rules: none(),
        };
        let (events, others) =
            (tokio::sync::mpsc::channel(1).0, tokio::sync::mpsc::unbounded_channel().0);
        let io = Io::new(paths, events, others);
        let wanted = || {
            let all = EventKind::ALL.into_iter();
            all.filter(|kind| io.wanted_events.has(*kind)).collect::<Vec<_>>()
        };
        assert_eq!(wanted(), []);
        let mut exporters = Exporters::default();
        let flows = settings("syslog", "127.0.0.1", "\tlist event 'flow'\n");
        let alerts = settings("syslog", "127.0.0.2", "\toption name 'alerts'\n");
        exporters.execute(Effect::Run(vec![(1, flows.clone()), (2, alerts)]), &io);
        assert_eq!(wanted(), [EventKind::Alert, EventKind::Flow]);
        exporters.execute(Effect::Run(vec![(1, flows)]), &io);
        assert_eq!(wanted(), [EventKind::Flow]);
        exporters.execute(Effect::Run(Vec::new()), &io);
        assert_eq!(wanted(), []);
    });
}
