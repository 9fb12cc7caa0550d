// SPDX-License-Identifier: GPL-2.0-or-later

use ipfix::Protocol;
use tokio::net::{TcpListener, UdpSocket};

use super::*;
use crate::export::run::tests::{Bench, LONG, Received, in_loop, receive, receive_tcp};

const BATCH: u64 = 2000;

fn parts(mut rest: u64) -> impl FnMut() -> Option<Queue> {
    move || {
        let part = rest.min(BATCH);
        rest -= part;
        (part > 0).then(|| crate::export::fixture::queue(part))
    }
}

/// There are more records than fit the queue, and the collector does not read for some time.
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
        let ended = timeout(LONG, bench.finished(SEND_TIMEOUT, parts(u64::MAX))).await;
        ended.expect("an end");
        // No exporter has this serial number.
        timeout(SEND_TIMEOUT, bench.exporters.finish(&[7], LONG, parts(u64::MAX)))
            .await
            .expect("an end");
    });
}
