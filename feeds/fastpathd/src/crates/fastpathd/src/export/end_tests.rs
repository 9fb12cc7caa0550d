// SPDX-License-Identifier: GPL-2.0-or-later

use ctnetlink::Entry;
use ipfix::Protocol;
use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::export::run::tests::{Bench, LONG, Received, in_loop, receive, receive_tcp};
use crate::export::{Event, Progress};
use crate::fixture::{configuration, established, running};

/// Returns `rest` records in batches, as the flow table makes them.
fn parts(mut rest: u64) -> impl FnMut() -> Option<Queue> {
    move || {
        let part = rest.min(FLOWS as u64);
        rest -= part;
        (part > 0).then(|| crate::export::fixture::queue(part))
    }
}

/// More records than fit a queue, and a collector that does not read for some time.
#[test]
fn the_last_records_are_sent_at_shutdown() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let (mut stream, _) = listener.accept().await.unwrap();
        bench.up().await;
        let mut received = Received::default();
        let shared = bench.exporters.running[0].1.clone();
        let read = async {
            while shared.queue.borrow().size() <= MAX_QUEUE / 2 {
                sleep(POLL_INTERVAL).await;
            }
            sleep(100 * POLL_INTERVAL).await;
            receive_tcp(&mut stream, &mut received, 150_003).await;
        };
        tokio::join!(bench.finished(LONG, parts(150_003)), read);
        assert_eq!(received.records, 150_003);
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Udp, socket.local_addr().unwrap());
        bench.up().await;
        let mut received = Received::default();
        let read = receive(&socket, &mut received, 503);
        tokio::join!(bench.finished(LONG, parts(503)), read);
        assert_eq!(received.records, 503);
    });
}

#[test]
fn shutdown_does_not_wait_for_a_collector_that_does_not_read() {
    in_loop(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut bench = Bench::new(Protocol::Tcp, listener.local_addr().unwrap());
        let _stream = listener.accept().await.unwrap();
        bench.up().await;
        // More than the buffers of both sockets hold.
        let ended = timeout(LONG, bench.finished(SENT_WITHIN, parts(u64::MAX))).await;
        ended.expect("an end");
        // No exporter has this serial number.
        timeout(SENT_WITHIN, bench.exporters.finish(&[7], LONG, parts(u64::MAX)))
            .await
            .expect("an end");
    });
}

#[test]
fn open_flows_have_a_last_record_at_shutdown() {
    let mut core = running();
    let mut values = configuration("flowtable");
    values["store"] = json!({".type": "export", ".name": "store", "host": "192.0.2.10"});
    values["log"] =
        json!({".type": "export", ".name": "log", "host": "192.0.2.10", "kind": "syslog"});
    core.configuration_read(&values);
    assert_eq!(core.reading_records(), [0; 0]);
    let up = Progress { state: ExportState::Up, ..Progress::begin(true, 0) };
    core.export_event(Event::Progress(1, up.clone()));
    core.export_event(Event::Progress(2, up));
    assert_eq!(core.reading_records(), [1], "events are another thing");
    let begin = Entry { orig_counters: None, reply_counters: None, ..established(1, false) };
    core.entries_changed(&[ctnetlink::Event::New(begin)]);
    core.conntrack.flows_mut().dump_begin(core.now);
    core.entries_read(&[established(1, false)]);
    core.dump_ended(true);
    let mut next = 0;
    assert_eq!(core.last_records(&mut next).map(|queue| queue.len()), Some(1));
    assert_eq!(core.last_records(&mut next), None);
}
