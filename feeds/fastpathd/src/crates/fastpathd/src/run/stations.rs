// SPDX-License-Identifier: GPL-2.0-or-later
//! Follows the stations of access points over nl80211. Needs no privileges.

use std::io;

use gateway::event::Event as AnyEvent;
use gateway::history::{Event, Point, Station};
use gateway::sys::error::chain;
use netlink::{
    AsyncSocket, Family, Protocol, RequestError, attribute, contents, messages, number, overrun,
    push_attribute,
};
use tokio::sync::mpsc::Sender;
use topology::Mac;

use super::offload::RETRY_INTERVAL;

const FAMILY: &str = "nl80211";
/// Multicast group of associations.
const GROUP: &str = "mlme";
/// `GENL_ID_CTRL`: the multicast group and the type of messages about families.
const CONTROL: u16 = 16;

/// `NL80211_CMD_*` and `NL80211_ATTR_*` of `linux/nl80211.h`.
const GET_INTERFACE: u8 = 5;
const GET_STATION: u8 = 17;
const NEW_STATION: u8 = 19;
const DEL_STATION: u8 = 20;
const IFINDEX: u16 = 3;
const IFNAME: u16 = 4;
const IFTYPE: u16 = 5;
const MAC: u16 = 6;
const SSID: u16 = 52;
/// `NL80211_IFTYPE_AP`.
const ACCESS_POINT: u32 = 3;

pub(crate) async fn watch(events: Sender<AnyEvent>) {
    loop {
        match AsyncSocket::open(Protocol::Generic, &[u32::from(CONTROL)]) {
            Ok(socket) => match follow(socket, &events).await {
                Ok(()) => return,
                Err(error) => log::error!("stations: {error}"),
            },
            Err(error) => log::error!("stations: {error}"),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Follows the socket until the daemon ends or the socket fails. The family appears when a driver
/// is loaded.
async fn follow(mut socket: AsyncSocket, events: &Sender<AnyEvent>) -> io::Result<()> {
    let mut family = None;
    let mut is_stale = true;
    loop {
        let mut found = Vec::new();
        if is_stale {
            // The reading covers queued events.
            while socket.try_recv().is_ok_and(|more| more.is_some()) {}
            family = open(&socket);
            let all = family.as_mut().map(read_all);
            let log = |error| log::debug!("stations: {}", chain(&error));
            found.extend(all.and_then(|all| all.map_err(log).ok()).map(Event::Stations));
        }
        for event in found {
            if events.send(AnyEvent::History(event)).await.is_err() {
                return Ok(());
            }
        }
        let mut changes = Vec::new();
        is_stale = match socket.recv().await {
            Ok(datagram) => {
                let number = family.as_ref().map(Family::number);
                let of = messages(datagram).filter(|message| Some(message.kind) == number);
                changes.extend(of.filter_map(|message| change(message.payload)));
                messages(datagram).any(|message| message.kind == CONTROL)
            }
            Err(error) if overrun(&error) => true,
            Err(error) => return Err(error),
        };
        for (mac, index, is_connected) in changes {
            let point = family.as_mut().filter(|_| is_connected);
            let point = point.and_then(|family| point_of(family, index));
            if is_connected == point.is_some() {
                let event = Event::Station(Station { mac, index, point });
                if events.send(AnyEvent::History(event)).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

/// Returns `None` without a wireless driver.
fn open(socket: &AsyncSocket) -> Option<Family> {
    let family = Family::open(FAMILY).ok()?;
    socket.join(family.group(GROUP)?).ok()?;
    Some(family)
}

fn read_all(family: &mut Family) -> Result<Vec<Station>, RequestError> {
    let interfaces = family.dump(GET_INTERFACE, &[])?;
    let mut all = Vec::new();
    for point in contents(&interfaces).filter_map(point) {
        let stations = family.dump(GET_STATION, &index_of(point.index))?;
        let macs = contents(&stations).filter_map(mac);
        all.extend(macs.map(|mac| Station { mac, index: point.index, point: Some(point.clone()) }));
    }
    Ok(all)
}

/// Returns the access point with this index.
fn point_of(family: &mut Family, index: u32) -> Option<Point> {
    let answer = family.request(GET_INTERFACE, &index_of(index)).ok()?;
    contents(&answer).find_map(point)
}

fn index_of(index: u32) -> Vec<u8> {
    let mut attributes = Vec::new();
    push_attribute(&mut attributes, IFINDEX, &index.to_ne_bytes());
    attributes
}

/// Decodes an event: station, index of the interface, and whether the station is new.
fn change(payload: &[u8]) -> Option<(Mac, u32, bool)> {
    let (command, content) = (payload.first()?, payload.get(4..)?);
    let is_new = match *command {
        NEW_STATION => true,
        DEL_STATION => false,
        _ => return None,
    };
    Some((mac(content)?, word(content, IFINDEX)?, is_new))
}

/// Decodes an interface; `None` unless it is an access point.
fn point(content: &[u8]) -> Option<Point> {
    let text = |kind| attribute(content, kind).map(|text| String::from_utf8_lossy(text));
    (word(content, IFTYPE)? == ACCESS_POINT).then_some(())?;
    Some(Point {
        index: word(content, IFINDEX)?,
        name: text(IFNAME)?.trim_end_matches('\0').to_owned(),
        ssid: text(SSID).unwrap_or_default().into_owned(),
    })
}

fn mac(content: &[u8]) -> Option<Mac> {
    Some(Mac(attribute(content, MAC)?.try_into().ok()?))
}

fn word(content: &[u8], kind: u16) -> Option<u32> {
    number(attribute(content, kind)?, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(parts: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, value) in parts {
            push_attribute(&mut bytes, *kind, value);
        }
        bytes
    }

    #[test]
    fn decodes_access_points_and_their_stations() {
        let of = |kind: u32| {
            let (index, kind) = (7_u32.to_ne_bytes(), kind.to_ne_bytes());
            let name = b"phy0-ap0\0";
            content(&[(IFINDEX, &index), (IFNAME, name), (IFTYPE, &kind), (SSID, b"Home")])
        };
        let (name, ssid) = ("phy0-ap0".to_owned(), "Home".to_owned());
        assert_eq!(point(&of(ACCESS_POINT)), Some(Point { index: 7, name, ssid }));
        assert_eq!(point(&of(2)), None, "a station");
        let event = |command: u8| {
            let index = 7_u32.to_ne_bytes();
            let parts = content(&[(IFINDEX, &index), (MAC, &[2, 0, 0, 0, 0, 1])]);
            change(&[&[command, 1, 0, 0], &parts[..]].concat())
        };
        let phone = Mac([2, 0, 0, 0, 0, 1]);
        assert_eq!(event(NEW_STATION), Some((phone, 7, true)));
        assert_eq!(event(DEL_STATION), Some((phone, 7, false)));
        assert_eq!(event(18), None, "a changed station");
        assert_eq!(change(&[NEW_STATION]), None);
    }
}
