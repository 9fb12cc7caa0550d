// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures the daemon's core with 500 devices, of which 450 were seen once, traffic in all flows,
//! and 400 days of history.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use ctnetlink::{Counters, Entry};
use gateway::event::Event;
use gateway::lab::established;
use gateway::{configuration, conntrack, history, network};
use serde_json::{Value, json};
use topology::Mac;

use crate::measure::memory_mb;
use crate::million::{Figures, ms};
use crate::router::{Router, START_MS, neighbour};
use crate::{Failure, past};

/// Devices of the clients of all recorded connections, each with 8 IPv4 and 8 IPv6 addresses.
pub(crate) const ACTIVE: u32 = 50;
/// Devices that were seen once.
pub(crate) const ONCE: u32 = 450;
/// Seconds that are measured with and without devices.
const SECONDS: u8 = 9;
/// Quarter hours that could not be written.
const UNWRITTEN: u8 = 64;
const QUARTER: Duration = Duration::from_secs(900);

/// Returns a MAC of a vendor.
pub(crate) fn active(number: u32) -> Mac {
    let [.., high, low] = number.to_be_bytes();
    Mac([0, 0x16, 0x3e, 0, high, low])
}

/// Returns a random MAC.
pub(crate) fn once(number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    Mac([2, 1, a, b, c, d])
}

fn address_of(number: u32) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 60, high, low.max(1))
}

/// Creates a router with the recorded connections in its table.
fn router(dump: &Path, has_devices: bool) -> Result<Router, Failure> {
    // Multicast MACs are no devices.
    let mac_of = if has_devices {
        |number: u16| active(u32::from(number) % ACTIVE)
    } else {
        |number: u16| Mac([1, 0x16, 0x3e, 0, 0, number.to_be_bytes()[1] % 50])
    };
    let mut router = Router::new("flowtable", false, None, 1, mac_of);
    router.readings.clock_is_set = true;
    router.readings.tz = "CET-1CEST,M3.5.0,M10.5.0/3".into();
    if has_devices {
        meet_devices(&mut router)?;
    }
    router.dump(dump, 1, 0)?;
    Ok(router)
}

/// Names devices, and lets each of those that are seen once send something.
fn meet_devices(router: &mut Router) -> Result<(), Failure> {
    let mut values = gateway::lab::configuration("flowtable");
    for number in 0..ACTIVE {
        let limit = if number % 10 == 0 { json!("50000") } else { Value::Null };
        let name = format!("d{number}");
        values[&name] = json!({
            ".type": "device", ".name": name, ".index": number + 1,
            "mac": active(number).to_string(), "name": format!("Device {number}"),
            "group": format!("group {}", number % 5), "quota_mb": "100000", "limit_down": limit,
        });
    }
    router.handle(Event::Configuration(configuration::Event::Read(values)));
    let mut changes = Vec::new();
    for number in 0..ONCE {
        let (mac, address) = (once(number), address_of(number));
        writeln!(router.readings.leases, "1800043200 {mac} {address} phone-{number} *")?;
        changes.push(neighbour(address.into(), mac));
    }
    router.handle(Event::Network(network::Event::Changed(changes)));
    router.second();
    let begin = |number| ctnetlink::Event::New(connection(number, 1000));
    let end = |number| ctnetlink::Event::Destroy(connection(number, 2000));
    let events = (0..ONCE).map(begin).chain((0..ONCE).map(end)).collect();
    router.handle(Event::Conntrack(conntrack::Event::Changed(events)));
    router.second();
    Ok(())
}

fn connection(number: u32, bytes: u64) -> Entry {
    let mut entry = established(0xff00_0000 + number, false);
    let src = IpAddr::from(address_of(number));
    entry.orig.src = src;
    let counters = Some(Counters { packets: bytes / 100, bytes });
    Entry { orig_counters: counters, reply_counters: counters, ..entry }
}

/// One second of the router, with a dump in which every flow has new bytes. Returns the time of
/// all, and of the part without the dump.
fn second(router: &mut Router, dump: &Path, grown: u8) -> Result<[f64; 2], Failure> {
    router.second();
    let [rest, _] = router.spent();
    router.dump(dump, 1, grown)?;
    let [merging, _] = router.spent();
    Ok([ms(rest + merging), ms(rest)])
}

/// Measures seconds with and without devices in turns. The shortest ones count.
pub(crate) fn seconds(dump: &Path) -> Result<Figures, Failure> {
    let mut routers = [Box::new(router(dump, true)?), Box::new(router(dump, false)?)];
    let mut best = [[f64::INFINITY; 2]; 2];
    for grown in 1..=SECONDS {
        for (router, best) in routers.iter_mut().zip(&mut best) {
            let took = second(router, dump, grown)?;
            (0..2).for_each(|at| best[at] = best[at].min(took[at]));
        }
    }
    let [[with, rest_with], [without, rest_without]] = best;
    let figures = [
        ("a second with devices, ms", with),
        ("the same to a second without devices", with / without),
        ("work of devices without the dump, ms", rest_with - rest_without),
    ];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Measures answers and peak memory. The history could not be written for 16 hours, so most of
/// today is in memory.
pub(crate) fn answers(dump: &Path, folder: &Path) -> Result<Figures, Failure> {
    let mut ledger = past::open(folder);
    let recent = ledger.take_recent();
    let opened = history::Event::Opened(ledger.known().clone(), ledger.size(), recent);
    let mut router = router(dump, true)?;
    router.handle(Event::History(opened));
    for grown in 1..=UNWRITTEN {
        router.now += QUARTER;
        second(&mut router, dump, grown)?;
    }
    router.ledger = Some(ledger);
    let mut figures = Figures::new();
    for (name, method, request) in requests() {
        let mut best = [f64::INFINITY; 2];
        let mut bytes = 0;
        for _ in 0..5 {
            let answer = router.call(method, &request)?;
            best = [best[0].min(ms(answer.took)), best[1].min(ms(answer.reading))];
            bytes = answer.bytes;
        }
        let kind = if best[1] > 0.0 { "history" } else { "answer" };
        figures.push((format!("{kind}: {name}, ms in the loop ({bytes} bytes)"), best[0]));
        if best[1] > 0.0 {
            figures.push(("the same, ms in a thread".to_owned(), best[1]));
        }
    }
    router.spent();
    router.second();
    figures.push(("a second that writes the history, ms".into(), ms(router.spent()[0])));
    figures.push(("peak memory, MB".into(), memory_mb("VmHWM:")?));
    Ok(figures)
}

/// Names of answers with their requests, as by the page.
fn requests() -> [(&'static str, &'static str, Value); 12] {
    let mac = active(7).to_string();
    let numbers = || (7..400).step_by(50);
    let v4 = numbers().map(|n| format!("10.10.{}.{}", n >> 8, n & 255));
    let v6 = numbers().map(|n| format!("fd00:10::{n:x}"));
    let host = v4.chain(v6).collect::<Vec<_>>().join(",");
    let from_ms = START_MS - 86_400_000;
    let of_device = json!({"limit": 200, "sort": "bytes", "filter": {"host": host}});
    [
        ("devices", "devices", json!({})),
        ("flows", "flows", json!({"limit": 160})),
        ("flows of a device", "flows", of_device),
        ("top hosts", "top", json!({"by": "host", "limit": 6})),
        ("days", "usage", json!({"step": "day"})),
        ("quarter hours", "usage", json!({"step": "quarter"})),
        ("days of a device", "usage", json!({"step": "day", "mac": mac})),
        ("quarter hours of a device", "usage", json!({"step": "quarter", "mac": mac})),
        ("quarter hours of a day", "usage", json!({"step": "quarter", "from_ms": from_ms})),
        ("today of a device", "usage", json!({"step": "day", "mac": mac, "from_ms": from_ms})),
        ("journal", "journal", json!({"limit": 500})),
        ("status", "status", json!({})),
    ]
}
