// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures conntrack in the running kernel: dumps, events, and the events that fit into the
//! daemon's socket.

use std::net::UdpSocket;
use std::time::Duration;

use netlink::{Client, Protocol};

use crate::Failure;
use crate::conntrack::{CT_GET, Listener, enter_namespace, flush};
use crate::measure::{count, cpu_time};
use crate::record::FLUSH_BUFFER;

const CONNECTIONS: usize = 50_000;
/// Buffer of `ctnetlink::EventSocket`.
const BUFFER: usize = 8 * 1024 * 1024;

/// Prints the figures as one line.
pub(crate) fn measure() -> Result<(), Failure> {
    enter_namespace()?;
    // Connections without a listener would cause no events later.
    let mut listener = Listener::open(FLUSH_BUFFER)?;
    connect()?;
    let received = timed(|| listener.drain().map(drop))?;
    let events = netlink::messages(&listener.events).count();
    let mut table = Vec::new();
    let dump = timed(|| {
        table = Client::open(Protocol::Netfilter)?.dump(CT_GET, &[0; 4])?;
        Ok(())
    })?;
    let entries = netlink::messages(&table).count();
    let mut listener = Listener::open(BUFFER)?;
    flush()?;
    if listener.drain()? {
        return Err("the events of all connections fit into the daemon's buffer".into());
    }
    let fit = netlink::messages(&listener.events).count();
    let figures = [
        ("dump of an entry, µs", micros(dump, entries)),
        ("receiving an event, one a call, µs", micros(received, events)),
        ("events that fit into the daemon's buffer", count(fit)),
    ];
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// Makes one-way UDP connections.
fn connect() -> Result<(), Failure> {
    let socket = UdpSocket::bind("10.10.0.1:40000")?;
    for number in 0..CONNECTIONS {
        let [.., high, low] = number.to_be_bytes();
        socket.send_to(b"x", (std::net::Ipv4Addr::new(10, 30, high, low), 9))?;
    }
    Ok(())
}

fn timed(run: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = cpu_time();
    run()?;
    Ok(cpu_time().saturating_sub(start))
}

fn micros(time: Duration, number: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count(number)
}
