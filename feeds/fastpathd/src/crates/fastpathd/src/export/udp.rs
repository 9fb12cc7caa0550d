// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports over UDP. Templates are sent first, and records only if no ICMP error follows.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use crate::export::outbox::Permit;
use crate::export::run::{End, Exporter, SECOND};

/// Time in which an ICMP error may follow the first templates.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// Interval of messages with names. nfdump ignores such messages and counts a sequence gap.
const NAMES_INTERVAL: Duration = Duration::from_secs(600);
/// Datagrams sent without a pause. A default receive buffer (`net.core.rmem_default`) holds 90.
const BURST: usize = 32;
const SEND_INTERVAL: Duration = Duration::from_millis(10);

pub(super) async fn serve(exporter: &mut Exporter) -> End {
    match open(exporter).await {
        Ok(socket) => follow(exporter, &socket).await.unwrap_or_else(|error| {
            // The kernel reports the error of an earlier datagram.
            End::Failed(error.into())
        }),
        Err(error) => End::Failed(error.into()),
    }
}

async fn open(exporter: &Exporter) -> io::Result<UdpSocket> {
    let collector = exporter.settings.collector();
    let any: IpAddr = match collector {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    if let Some(device) = &exporter.device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    socket.connect(collector).await?;
    Ok(socket)
}

async fn follow(exporter: &mut Exporter, socket: &UdpSocket) -> io::Result<End> {
    let shared = exporter.shared.clone();
    let now = exporter.now();
    exporter.outbox.restart(&shared, now);
    let refresh = exporter.settings.flow_settings().map_or(0, |settings| settings.template_refresh);
    let refresh = Duration::from_secs(refresh.into());
    let mut reached = false;
    let (mut more, mut flush) = (false, false);
    let (mut second, mut wake) = (Instant::now() + SECOND, Instant::now());
    let probed = wake + PROBE_TIME;
    let (mut refresh_at, mut names_at) = (wake + refresh, wake + NAMES_INTERVAL);
    let mut discarded = [0; 64];
    loop {
        tokio::select! {
            received = socket.recv(&mut discarded) => {
                received?;
                // A collector that sends without pause must not starve other tasks.
                yield_now().await;
                continue;
            }
            () = shared.ready.notified(), if !more => {}
            () = sleep_until(wake) => {}
        }
        let now = Instant::now();
        if !reached && now >= probed {
            reached = true;
            exporter.reached(false);
        }
        if now >= second {
            second = now + SECOND;
            flush = true;
            if now >= names_at {
                names_at = now + NAMES_INTERVAL;
                shared.renamed.set(true);
            }
            exporter.rename();
            if exporter.report().await {
                return Ok(End::Stopped);
            }
            if let Some(end) = exporter.egress_changed() {
                return Ok(end);
            }
            if now >= refresh_at {
                refresh_at = now + refresh;
                if moved(socket, exporter).await? {
                    return Ok(End::Moved);
                }
                exporter.outbox.repeat_templates();
            }
        }
        flush |= shared.flushed.get();
        let permit = match (reached, flush) {
            (false, _) => Permit::Templates,
            (true, false) => Permit::Full,
            (true, true) => Permit::All,
        };
        more = send(exporter, socket, permit)?;
        flush &= more;
        wake = if more { now + SEND_INTERVAL } else { second };
    }
}

fn send(exporter: &mut Exporter, socket: &UdpSocket, permit: Permit) -> io::Result<bool> {
    let now = exporter.now();
    for _ in 0..BURST {
        let Some(message) = exporter.outbox.next(&exporter.shared, permit) else {
            return Ok(false);
        };
        match socket.try_send(message) {
            Ok(_) => {
                let bytes = message.len();
                exporter.outbox.written(&exporter.shared, bytes, now);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Returns whether the source address of packets to the collector has changed.
async fn moved(socket: &UdpSocket, exporter: &Exporter) -> io::Result<bool> {
    Ok(open(exporter).await?.local_addr()?.ip() != socket.local_addr()?.ip())
}
