// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests exporters with collectors over the loopback device.

use std::net::SocketAddr;

use ipfix::{MAX_MESSAGE, Queue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};

use super::*;
use crate::export::fixture;
use crate::export::shared::MAX_QUEUE;

/// Longer than any step takes on a loaded machine, by the clock of `in_loop`.
pub(in crate::export) const LONG: Duration = Duration::from_secs(1200);

/// Runs `test` with a clock 20 times as fast as the kernel's. The kernel delays an ACK by up to 200
/// ms, which is 4 s by this clock and less than `STALL_TIMEOUT`.
pub(in crate::export) fn in_loop(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hurry = async {
        loop {
            sleep(Duration::from_millis(5)).await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_millis(95)).await;
            tokio::time::resume();
        }
    };
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            () = test => {}
            () = hurry => {}
        }
    });
}

pub(in crate::export) struct Bench {
    pub(in crate::export) exporters: Exporters,
    pub(super) reports: Receiver<AnyEvent>,
    pub(super) last: Progress,
    pub(super) was_up: bool,
}

impl Bench {
    pub(in crate::export) fn new(protocol: Protocol, collector: SocketAddr) -> Self {
        Self::of(Settings::Flows(fixture::settings(protocol, collector)))
    }

    pub(super) fn of(settings: Settings) -> Self {
        let (events, reports) = tokio::sync::mpsc::channel(1);
        let interfaces = [("loopback".to_owned(), "lo".to_owned())].into();
        let devices = EgressDevices { interfaces, ..EgressDevices::default() };
        let mut exporters = Exporters { devices: Some(Rc::new(devices)), ..Exporters::default() };
        exporters.run(vec![(1, settings)], &events);
        Self { exporters, reports, last: Progress::begin(true, 0), was_up: false }
    }

    fn send(&self, records: u64) {
        self.exporters.running[0].1.send(&fixture::queue(records));
    }

    pub(super) async fn until(&mut self, what: &str, reached: impl Fn(&Progress) -> bool) {
        while !reached(&self.last) {
            let report = timeout(LONG, self.reports.recv()).await;
            match report.unwrap_or_else(|_| panic!("{what}: {:?}", self.last)) {
                Some(event) => self.note(event),
                None => panic!("{what}: the exporter has ended"),
            }
        }
    }

    /// Sends the last records as the daemon does at shutdown, while receiving reports.
    pub(in crate::export) async fn finished(
        &mut self,
        within: Duration,
        more: impl FnMut() -> Option<Queue>,
    ) {
        let finish = self.exporters.finish(&[1], within, more);
        tokio::pin!(finish);
        loop {
            tokio::select! {
                () = &mut finish => return,
                Some(_) = self.reports.recv() => {}
            }
        }
    }

    fn note(&mut self, event: AnyEvent) {
        let AnyEvent::Export(Event::Progress(1, progress)) = event else { panic!("{event:?}") };
        self.was_up |= progress.state == ExportState::Up;
        self.last = progress;
    }

    pub(super) async fn pass(&mut self, seconds: u64) {
        let end = Instant::now() + Duration::from_secs(seconds);
        while let Ok(Some(event)) = tokio::time::timeout_at(end, self.reports.recv()).await {
            self.note(event);
        }
    }

    pub(in crate::export) async fn up(&mut self) {
        self.until("up", |progress| progress.state == ExportState::Up).await;
    }
}

#[derive(Debug, Default)]
pub(in crate::export) struct Received {
    templates: u32,
    pub(in crate::export) records: u64,
}

impl Received {
    /// Reads a complete message, whose data sets have only flow records.
    fn read(&mut self, message: &[u8]) {
        let short = |at: usize| usize::from(u16::from_be_bytes([message[at], message[at + 1]]));
        assert_eq!((short(0), short(2)), (10, message.len()));
        match short(16) {
            2 => self.templates += 1,
            256 => {
                assert!(self.templates > 0, "records before the templates");
                // All records of this test have the same length.
                let length = fixture::queue(1).size() - 4;
                assert_eq!((short(18) - 4) % length, 0);
                self.records += ((short(18) - 4) / length) as u64;
            }
            other => panic!("set {other}"),
        }
    }
}

pub(in crate::export) async fn receive(socket: &UdpSocket, received: &mut Received, records: u64) {
    let mut message = [0; 2048];
    while received.records < records || received.templates == 0 {
        let read = timeout(LONG, socket.recv(&mut message)).await;
        let read = read.unwrap_or_else(|_| panic!("{received:?}")).unwrap();
        received.read(&message[..read]);
    }
}

pub(in crate::export) async fn receive_tcp(
    stream: &mut TcpStream,
    received: &mut Received,
    records: u64,
) {
    while received.records < records || received.templates == 0 {
        let mut head = [0; 4];
        let read = timeout(LONG, stream.read_exact(&mut head)).await;
        read.unwrap_or_else(|_| panic!("{received:?}")).unwrap();
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut message = head.to_vec();
        message.resize(length, 0);
        stream.read_exact(&mut message[4..]).await.unwrap();
        received.read(&message);
    }
}

#[test]
fn sends_templates_before_records_over_udp() {
    in_loop(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Udp, socket.local_addr().unwrap());
        bench.send(1000);
        let mut received = Received::default();
        receive(&socket, &mut received, 1000).await;
        bench.until("sent", |progress| progress.sent == 1000).await;
        assert_eq!((bench.last.state, bench.last.lost), (ExportState::Up, 0));
        let templates = received.templates;
        while received.templates < templates + 2 {
            let mut message = [0; 2048];
            let read = timeout(LONG, socket.recv(&mut message)).await.unwrap().unwrap();
            received.read(&message[..read]);
        }
    });
}

#[test]
fn a_collector_that_starts_later_gets_all_records() {
    in_loop(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        drop(socket);
        let mut bench = Bench::new(Protocol::Udp, address);
        bench.send(50);
        bench.until("down", |progress| progress.state == ExportState::Down).await;
        assert_eq!(bench.last.reason, Some(ExportReason::Refused));
        let socket = UdpSocket::bind(address).await.unwrap();
        receive(&socket, &mut Received::default(), 50).await;
        bench.until("sent", |progress| progress.sent == 50).await;
        assert_eq!(bench.last.lost, 0);
    });
}

#[test]
fn datagrams_to_a_collector_that_has_ended_are_lost() {
    in_loop(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let mut bench = Bench::new(Protocol::Udp, address);
        bench.send(5);
        let mut received = Received::default();
        receive(&socket, &mut received, 5).await;
        bench.until("sent", |progress| progress.sent == 5).await;
        drop(socket);
        bench.send(3);
        bench.until("down", |progress| progress.state == ExportState::Down).await;
        let socket = UdpSocket::bind(address).await.unwrap();
        bench.send(4);
        let mut after = Received::default();
        bench.until("back", |progress| progress.sent + progress.lost == 12).await;
        receive(&socket, &mut after, bench.last.sent - 5).await;
        // Depends on whether templates or records reach the closed port first.
        assert!([0, 3].contains(&bench.last.lost), "{:?}", bench.last);
        assert_eq!(received.records + after.records + bench.last.lost, 12);
    });
}

#[test]
fn data_from_the_collector_does_not_stop_the_export() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        bench.send(100);
        let mut received = Received::default();
        receive_tcp(&mut stream, &mut received, 100).await;
        timeout(LONG, stream.write_all(&vec![0xa5; 1 << 20])).await.unwrap().unwrap();
        bench.send(100);
        receive_tcp(&mut stream, &mut received, 200).await;
        bench.until("sent", |progress| progress.sent == 200).await;
        assert_eq!((received.templates, bench.last.lost), (1, 0));
    });
}

#[test]
fn a_new_connection_begins_with_templates() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        bench.send(10);
        receive_tcp(&mut stream, &mut Received::default(), 10).await;
        bench.until("sent", |progress| progress.sent == 10).await;
        drop(stream);
        bench.until("down", |progress| progress.state == ExportState::Down).await;
        assert_eq!(bench.last.reason, Some(ExportReason::Closed));
        bench.send(20);
        let (mut stream, _) = listener.accept().await.unwrap();
        receive_tcp(&mut stream, &mut Received::default(), 20).await;
        bench.until("sent", |progress| progress.sent == 30).await;
        assert_eq!(bench.last.lost, 0);
    });
}

/// The loop keeps running, and each record is counted once.
#[test]
fn a_collector_that_does_not_read_loses_records() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        bench.up().await;
        let mut made = 0;
        while bench.last.lost == 0 {
            bench.send(1000);
            made += 1000;
            assert!(made < 10_000_000);
            let before = Instant::now();
            sleep(Duration::from_millis(1)).await;
            // A blocking task would stop the loop.
            assert!(before.elapsed() < LONG);
            if let Ok(Some(AnyEvent::Export(Event::Progress(_, progress)))) =
                timeout(Duration::from_millis(1), bench.reports.recv()).await
            {
                bench.last = progress;
            }
        }
        assert!(bench.exporters.running[0].1.queue.borrow().size() <= MAX_QUEUE);
        // The last report may be older than the last records.
        let counted = |progress: &Progress| progress.sent + progress.lost + progress.queued == made;
        let stalled = Some(ExportReason::Stalled);
        bench.until("stalled", |last| last.reason == stalled && counted(last)).await;
        let lost = bench.last.lost;
        receive_tcp(&mut stream, &mut Received::default(), made - lost).await;
        bench.until("sent", |progress| progress.sent + progress.lost == made).await;
        assert_eq!((bench.last.lost, bench.last.queued), (lost, 0));
        assert_eq!(bench.last.reason, None, "the collector reads again");
    });
}

#[test]
fn other_tasks_run_between_bursts() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (_unread, _) = listener.accept().await.unwrap();
        bench.up().await;
        bench.send(10_000);
        let shared = bench.exporters.running[0].1.clone();
        let mut sizes = std::collections::BTreeSet::new();
        // A small send buffer would fill up before the queue is empty.
        while shared.queue.borrow().size() >= MAX_MESSAGE && sizes.len() < 4 {
            sizes.insert(shared.queue.borrow().size());
            tokio::task::yield_now().await;
        }
        assert!(sizes.len() > 3, "{sizes:?}");
    });
}

#[test]
fn removing_a_section_ends_its_exporter() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        bench.up().await;
        let events = tokio::sync::mpsc::channel(1).0;
        bench.exporters.run(Vec::new(), &events);
        let read = timeout(LONG, stream.read_to_end(&mut Vec::new())).await;
        read.unwrap().unwrap();
    });
}

/// The path may appear later, for example with a PPPoE session.
#[test]
fn reports_a_path_that_the_kernel_refuses() {
    in_loop(async {
        // Broadcasts need `SO_BROADCAST`.
        let collector = "255.255.255.255:4739".parse().unwrap();
        let interface = Some("loopback".to_owned());
        let settings = fixture::settings(Protocol::Udp, collector);
        let mut bench = Bench::of(Settings::Flows(ipfix::Settings { interface, ..settings }));
        bench.send(1);
        bench.until("down", |progress| progress.state == ExportState::Down).await;
        assert!(matches!(bench.last.reason, Some(ExportReason::Unreachable { .. })));
        assert_eq!((bench.last.lost, bench.last.queued), (0, 1));
    });
}

#[test]
fn a_connection_ends_when_its_route_becomes_forbidden() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        in_loop(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let collector = listener.local_addr().unwrap();
            let interface = Some("loopback".to_owned());
            let settings = fixture::settings(protocol, collector);
            let mut bench = Bench::of(Settings::Flows(ipfix::Settings { interface, ..settings }));
            let _udp = UdpSocket::bind(collector).await.unwrap();
            bench.up().await;
            bench.exporters.set_egress(EgressDevices::default());
            bench.until("no route", |progress| progress.state == ExportState::NoRoute).await;
            let reason = ExportReason::InterfaceDown { interface: "loopback".to_owned() };
            assert_eq!(bench.last.reason, Some(reason));
            let interfaces = [("loopback".to_owned(), "lo".to_owned())].into();
            bench.exporters.set_egress(EgressDevices { interfaces, ..EgressDevices::default() });
            bench.up().await;
        });
    }
}

#[test]
fn sends_nothing_before_the_zones_are_known() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = fixture::settings(Protocol::Tcp, listener.local_addr().unwrap());
        let (events, _reports) = tokio::sync::mpsc::channel(9);
        let mut exporters = Exporters::default();
        exporters.run(vec![(1, Settings::Flows(settings))], &events);
        sleep(Duration::from_millis(300)).await;
        let waits = timeout(Duration::ZERO, listener.accept()).await;
        assert!(waits.is_err(), "{waits:?}");
        exporters.set_egress(EgressDevices::default());
        timeout(LONG, listener.accept()).await.expect("a connection").unwrap();
    });
}
