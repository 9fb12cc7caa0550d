// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds devices that join, leave and change access points.

use std::collections::BTreeMap;
use std::time::Duration;

use ledger::Kind;
use topology::Mac;

/// Time without a change before an event. A station with a wrong key is removed within it, and a
/// move is one event.
const SETTLE_TIME: Duration = Duration::from_secs(5);
/// Maximum stations; changes of further ones are dropped.
const MAX_STATIONS: usize = 512;
/// Maximum events of a station in [`PERIOD`].
const MAX_EVENTS: u32 = 6;
const PERIOD: Duration = Duration::from_secs(3600);

/// A device of an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub index: u32,
    pub name: String,
    pub ssid: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    pub mac: Mac,
    /// Index of the access point.
    pub index: u32,
    /// `None` if the station has left.
    pub point: Option<Point>,
}

#[derive(Debug, Default)]
struct Known {
    /// The last access point that the station joined is last.
    points: Vec<Point>,
    /// Access point of the last event; `None` if the station was gone.
    told: Option<Point>,
    changed_at: Duration,
    /// Begin of the period in which the events are counted.
    since: Duration,
    events: u32,
}

#[derive(Debug, Default)]
pub(super) struct Roaming {
    is_read: bool,
    stations: BTreeMap<Mac, Known>,
}

impl Roaming {
    /// Replaces the stations. Those of the first reading are no events.
    pub(super) fn read(&mut self, all: Vec<Station>, now: Duration) {
        for known in self.stations.values_mut() {
            known.points.clear();
        }
        for station in all {
            self.change(station, now);
        }
        if !self.is_read {
            self.is_read = true;
            for known in self.stations.values_mut() {
                known.told = known.points.last().cloned();
            }
        }
    }

    pub(super) fn change(&mut self, station: Station, now: Duration) {
        let Station { mac, index, point } = station;
        if self.stations.len() >= MAX_STATIONS && !self.stations.contains_key(&mac) {
            return;
        }
        let known = self.stations.entry(mac).or_default();
        known.points.retain(|point| point.index != index);
        known.points.extend(point);
        known.changed_at = now;
    }

    pub(super) fn second(&mut self, now: Duration) -> Vec<(Kind, String)> {
        let mut events = Vec::new();
        self.stations.retain(|mac, known| {
            let point = known.points.last();
            let index = |point: &Point| point.index;
            let has_changed = point.map(index) != known.told.as_ref().map(index);
            if now.saturating_sub(known.since) >= PERIOD {
                (known.since, known.events) = (now, 0);
            }
            if has_changed && now.saturating_sub(known.changed_at) >= SETTLE_TIME {
                let what = match (&known.told, point) {
                    (None, _) => "joined",
                    (Some(_), Some(_)) => "moved",
                    (Some(_), None) => "left",
                };
                known.events += 1;
                if let Some(Point { name, ssid, .. }) = point.or(known.told.as_ref())
                    && known.events <= MAX_EVENTS
                {
                    events.push((Kind::Wifi, format!("{mac} {what} {name} {ssid}")));
                }
                known.told = point.cloned();
            }
            !known.points.is_empty() || known.told.is_some() || known.events > 0
        });
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHONE: Mac = Mac([2, 0, 0, 0, 0, 1]);

    fn station(index: u32, is_connected: bool) -> Station {
        let point = Point { index, name: format!("phy0-ap{index}"), ssid: "My home".to_owned() };
        Station { mac: PHONE, index, point: is_connected.then_some(point) }
    }

    /// Events of changes, each at a second, until the last second.
    fn events(roaming: &mut Roaming, changes: &[(u64, Station)], last: u64) -> Vec<String> {
        let mut events = Vec::new();
        for second in 0..=last {
            let now = Duration::from_secs(second);
            for (_, station) in changes.iter().filter(|(at, _)| *at == second) {
                roaming.change(station.clone(), now);
            }
            events.extend(roaming.second(now).into_iter().map(|(_, about)| about));
        }
        events
    }

    #[test]
    fn joins_moves_and_leaves_are_events() {
        let changes = [
            (1, station(0, true)),
            // Some access points drop the station before it joins the next one, others after.
            (10, station(1, true)),
            (11, station(0, false)),
            (20, station(1, false)),
            (21, station(0, true)),
            (30, station(0, false)),
        ];
        assert_eq!(
            events(&mut Roaming::default(), &changes, 40),
            [
                "02:00:00:00:00:01 joined phy0-ap0 My home",
                "02:00:00:00:00:01 moved phy0-ap1 My home",
                "02:00:00:00:00:01 moved phy0-ap0 My home",
                "02:00:00:00:00:01 left phy0-ap0 My home",
            ]
        );
    }

    #[test]
    fn short_connections_and_interruptions_are_no_events() {
        let mut roaming = Roaming::default();
        let refused = [(1, station(0, true)), (5, station(0, false))];
        assert_eq!(events(&mut roaming, &refused, 20), [""; 0]);
        assert!(roaming.stations.is_empty());
        roaming.read(vec![station(0, true)], Duration::ZERO);
        let again = [(1, station(0, false)), (5, station(0, true))];
        assert_eq!(events(&mut roaming, &again, 20), [""; 0], "present from the beginning");
    }

    #[test]
    fn the_first_reading_is_no_event_but_later_ones_are() {
        let mut roaming = Roaming::default();
        roaming.read(vec![station(0, true)], Duration::ZERO);
        assert_eq!(events(&mut roaming, &[], 10), [""; 0]);
        roaming.read(Vec::new(), Duration::from_secs(10));
        assert_eq!(events(&mut roaming, &[], 20), ["02:00:00:00:00:01 left phy0-ap0 My home"]);
    }

    #[test]
    fn a_flapping_station_has_few_events() {
        let mut roaming = Roaming::default();
        let flap: Vec<_> = (0..7200).map(|at| (at * 10, station(0, at % 2 == 0))).collect();
        let found = events(&mut roaming, &flap, 7199);
        assert_eq!(found.len(), 2 * usize::try_from(MAX_EVENTS).unwrap());
        for number in 0..2000_u16 {
            let [a, b] = number.to_be_bytes();
            let mac = Mac([2, 1, 0, 0, a, b]);
            roaming.change(Station { mac, ..station(0, true) }, Duration::ZERO);
        }
        assert_eq!(roaming.stations.len(), MAX_STATIONS);
    }
}
