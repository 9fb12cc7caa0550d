// SPDX-License-Identifier: GPL-2.0-or-later
//! Simulated traffic as conntrack reports it: connections that begin, grow, pause and end, with the
//! totals of their traffic.

use std::net::Ipv4Addr;

use ctnetlink::{Counters, Entry, Event, Status, TcpState, Tuple};
use serde::Serialize;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Maximum number of connections that begin per second, or that end per second after `stop`.
const MAX_CHANGES: usize = 200;
/// Shortest and longest duration of a connection, seconds.
const MIN_DURATION: u32 = 20;
const MAX_DURATION: u32 = 60;
/// Each connection pauses for the last `PAUSE` of `PERIOD` seconds, so that some become idle.
const PERIOD: u32 = 30;
const PAUSE: u32 = 10;
/// Maximum packets per second from the initiator. The responder sends four times as many.
const MAX_PACKETS: u32 = 30;
const MIN_BYTES: u32 = 40;
const MAX_BYTES: u32 = 1500;
/// First host of the LAN (10.10.10.10), and number of hosts.
const HOST: u32 = 0x0a0a_0a0a;
const HOSTS: u32 = 200;
/// First server (203.0.113.1), and number of servers.
const SERVER: u32 = 0xcb00_7101;
const SERVERS: u32 = 250;
const FIRST_PORT: u32 = 1024;
const PORTS: u32 = 60_000;
const WAN: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 10);

/// Bytes and packets from the initiators (up) and to the initiators (down).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sums {
    up_bytes: u64,
    up_packets: u64,
    down_bytes: u64,
    down_packets: u64,
}

#[derive(Debug)]
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(end)).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Connection {
    id: u32,
    tuples: [Tuple; 2],
    counters: [Counters; 2],
    offloaded: bool,
    ends: u32,
}

impl Connection {
    fn entry(&self) -> Entry {
        let [orig, reply] = self.tuples;
        let bit = if self.offloaded { Status::OFFLOAD } else { Status::default() };
        let tcp = orig.proto == TCP && !self.offloaded;
        Entry {
            id: self.id,
            zone: 0,
            orig,
            reply,
            status: Status::SEEN_REPLY | Status::ASSURED | Status::CONFIRMED | bit,
            timeout_s: (!self.offloaded).then_some(120),
            mark: 0,
            tcp_state: tcp.then_some(TcpState::Established),
            helper: false,
            seq_adjust: false,
            orig_counters: Some(self.counters[0]),
            reply_counters: Some(self.counters[1]),
            start_ns: None,
        }
    }

    fn new_event(&self) -> Event {
        let status = Status::CONFIRMED;
        let none = None;
        Event::New(Entry { status, orig_counters: none, reply_counters: none, ..self.entry() })
    }

    fn destroy_event(&self) -> Event {
        let tcp_state = (self.tuples[0].proto == TCP).then_some(TcpState::TimeWait);
        Event::Destroy(Entry { tcp_state, ..self.entry() })
    }
}

#[derive(Debug)]
pub(super) struct Traffic {
    numbers: Numbers,
    connections: Vec<Connection>,
    wanted: usize,
    second: u32,
    started: u32,
    stopped: bool,
    sums: Sums,
}

impl Traffic {
    pub(super) fn new(gateway: u32, wanted: usize) -> Self {
        Self {
            numbers: Numbers(0x9e37_79b9_7f4a_7c15 ^ (u64::from(gateway) << 32)),
            connections: Vec::new(),
            wanted,
            second: 0,
            started: 0,
            stopped: false,
            sums: Sums::default(),
        }
    }

    pub(super) fn sums(&self) -> Sums {
        self.sums
    }

    /// Ends all connections, oldest first, and starts no more.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    pub(super) fn dump(&self) -> Vec<Entry> {
        self.connections.iter().map(Connection::entry).collect()
    }

    /// Advances by a second. Returns the events of connections that began or ended.
    pub(super) fn second(&mut self) -> Vec<Event> {
        self.second += 1;
        let mut events = Vec::new();
        if !self.stopped {
            let missing = self.wanted.saturating_sub(self.connections.len());
            for _ in 0..missing.min(MAX_CHANGES) {
                let connection = self.begin();
                events.push(connection.new_event());
                self.connections.push(connection);
            }
        }
        self.grow();
        let second = self.second;
        let mut stops = if self.stopped { MAX_CHANGES } else { 0 };
        self.connections.retain(|connection| {
            let ends = stops > 0 || connection.ends <= second;
            stops = stops.saturating_sub(1);
            if ends {
                events.push(connection.destroy_event());
            }
            !ends
        });
        events
    }

    fn begin(&mut self) -> Connection {
        let number = self.started;
        self.started += 1;
        let host = Ipv4Addr::from_bits(HOST + number % HOSTS);
        let server = Ipv4Addr::from_bits(SERVER + self.numbers.below(SERVERS));
        let port = u16::try_from(FIRST_PORT + number % PORTS).unwrap_or(u16::MAX);
        let proto = if number.is_multiple_of(3) { UDP } else { TCP };
        let orig = Tuple { src: host.into(), dst: server.into(), proto, sport: port, dport: 443 };
        let reply = Tuple { src: server.into(), dst: WAN.into(), proto, sport: 443, dport: port };
        Connection {
            id: number + 1,
            tuples: [orig, reply],
            counters: Default::default(),
            offloaded: !number.is_multiple_of(5),
            ends: self.second + MIN_DURATION + self.numbers.below(MAX_DURATION - MIN_DURATION),
        }
    }

    fn grow(&mut self) {
        for connection in &mut self.connections {
            if (self.second + connection.id) % PERIOD >= PERIOD - PAUSE {
                continue;
            }
            let packets = 1 + self.numbers.below(MAX_PACKETS);
            let bytes = MIN_BYTES + self.numbers.below(MAX_BYTES - MIN_BYTES);
            let up = Counters { packets: packets.into(), bytes: (packets * MIN_BYTES).into() };
            let down =
                Counters { packets: (4 * packets).into(), bytes: (4 * packets * bytes).into() };
            for (counters, growth) in connection.counters.iter_mut().zip([up, down]) {
                counters.packets += growth.packets;
                counters.bytes += growth.bytes;
            }
            self.sums.up_bytes += up.bytes;
            self.sums.up_packets += up.packets;
            self.sums.down_bytes += down.bytes;
            self.sums.down_packets += down.packets;
        }
    }
}
