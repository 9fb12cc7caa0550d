// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports over TCP. A collector that does not read fills only its own queue.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use gateway::export::ExportReason;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use crate::export::outbox::Permit;
use crate::export::run::{End, Exporter, SECOND};
use crate::sys::socket::unacknowledged;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of acknowledgements. The kernel's default is about 15 minutes.
const ACK_TIMEOUT_MS: u32 = 30_000;
const ACK_TIMEOUT: Duration = Duration::from_millis(ACK_TIMEOUT_MS as u64);
/// Time without progress after which the collector counts as not reading.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Messages or reads before other tasks run.
const BURST: usize = 32;
/// Pause between reads, which throttles a collector that sends without pause.
const READ_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(exporter: &mut Exporter) -> End {
    let (collector, device) = (exporter.settings.collector(), exporter.device.as_deref());
    let connected = match timeout(CONNECT_TIMEOUT, connect(collector, device)).await {
        Ok(connected) => connected,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    };
    match connected {
        Ok(stream) => {
            let end = follow(exporter, &stream).await;
            // The kernel keeps the number of unacknowledged bytes after a failure.
            note_acknowledged(exporter, &stream)
                .and(end)
                .unwrap_or_else(|error| End::Failed(error.into()))
        }
        Err(error) => End::Failed(error.into()),
    }
}

async fn connect(collector: SocketAddr, device: Option<&str>) -> io::Result<TcpStream> {
    let socket = match collector {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    if let Some(device) = device {
        socket.bind_device(Some(device.as_bytes()))?;
    }
    let stream = socket.connect(collector).await?;
    set_tcp_user_timeout(&stream, ACK_TIMEOUT_MS)?;
    Ok(stream)
}

fn note_acknowledged(exporter: &mut Exporter, stream: &TcpStream) -> io::Result<()> {
    let now = exporter.now();
    exporter.outbox.unacknowledged(unacknowledged(stream.as_fd())?, now);
    Ok(())
}

async fn follow(exporter: &mut Exporter, stream: &TcpStream) -> io::Result<End> {
    let shared = exporter.shared.clone();
    let now = exporter.now();
    exporter.outbox.restart(&shared, now);
    let (connected, mut reached) = (Instant::now(), false);
    let mut second = Instant::now() + SECOND;
    let mut blocked_since: Option<Instant> = None;
    let (mut more, mut flush) = (true, true);
    let mut read_at = Instant::now();
    loop {
        let blocked = blocked_since.is_some();
        tokio::select! {
            readable = readable_at(stream, read_at) => {
                readable?;
                match discard(stream)? {
                    Read::All => {}
                    Read::Some => read_at = Instant::now() + READ_PAUSE,
                    Read::End => return Ok(End::Failed(ExportReason::Closed)),
                }
            }
            writable = stream.writable(), if blocked || more => writable?,
            () = shared.ready.notified(), if !blocked => {}
            () = sleep_until(second) => {}
        }
        note_acknowledged(exporter, stream)?;
        let now = Instant::now();
        if now >= second {
            second = now + SECOND;
            flush = true;
            exporter.rename();
            let unread = blocked_since.is_some_and(|at| now >= at + STALL_TIMEOUT);
            let unacknowledged_time = exporter.outbox.unacknowledged_for(exporter.now());
            if unacknowledged_time >= ACK_TIMEOUT {
                return Ok(End::Failed(ExportReason::Stalled));
            }
            if reached || now >= connected + exporter.outbox.min_duration() {
                reached = true;
                exporter.reached(unread || unacknowledged_time >= STALL_TIMEOUT);
            }
            if exporter.report().await {
                return Ok(End::Stopped);
            }
            if let Some(end) = exporter.egress_changed() {
                return Ok(end);
            }
        }
        flush |= shared.flushed.get();
        let written = write(exporter, stream, if flush { Permit::All } else { Permit::Full })?;
        blocked_since = match written {
            Written::Blocked { some: false } => blocked_since.or(Some(now)),
            Written::Blocked { some: true } => Some(now),
            Written::Paused | Written::All => None,
        };
        more = matches!(written, Written::Paused);
        flush &= !matches!(written, Written::All);
        if more {
            // The runtime does not switch tasks while the socket stays writable.
            yield_now().await;
        }
    }
}

enum Written {
    All,
    Paused,
    /// The socket is full; `some` if it accepted bytes before.
    Blocked {
        some: bool,
    },
}

fn write(exporter: &mut Exporter, stream: &TcpStream, permit: Permit) -> io::Result<Written> {
    let now = exporter.now();
    for round in 0..BURST {
        let Some(message) = exporter.outbox.next(&exporter.shared, permit) else {
            return Ok(Written::All);
        };
        match stream.try_write(message) {
            Ok(bytes) => exporter.outbox.written(&exporter.shared, bytes, now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Written::Blocked { some: round > 0 });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Written::Paused)
}

async fn readable_at(stream: &TcpStream, at: Instant) -> io::Result<()> {
    sleep_until(at).await;
    stream.readable().await
}

enum Read {
    All,
    Some,
    End,
}

/// Reads and discards data, because collectors send nothing of interest.
fn discard(stream: &TcpStream) -> io::Result<Read> {
    let mut bytes = [0; 4096];
    for _ in 0..BURST {
        match stream.try_read(&mut bytes) {
            Ok(0) => return Ok(Read::End),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Read::All),
            Err(error) => return Err(error),
        }
    }
    Ok(Read::Some)
}
