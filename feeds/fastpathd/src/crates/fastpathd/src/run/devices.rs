// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the vendor file outside the daemon's loop, and umdns' services.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gateway::devices::vendors::{VENDOR_FILE, find};
use gateway::devices::{Effect, Event, Found, Search};
use gateway::event::Event as AnyEvent;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::bus::connection;
use crate::io::Io;
use crate::sys::task::spawn_local;

pub(crate) fn execute(effect: Effect, io: &Io) {
    match effect {
        Effect::FindVendors(wanted) => {
            let events = io.events.clone();
            spawn_local(async move {
                let found = spawn_blocking(move || search(Path::new(VENDOR_FILE), wanted)).await;
                let event = Event::Searched(found.ok().flatten());
                let _ = events.send(AnyEvent::Devices(event)).await;
            });
        }
        Effect::BrowseServices => io.with_bus(|bus, events| async move {
            let services = connection::services(&bus).await.unwrap_or(Value::Null);
            let _ = events.send(AnyEvent::Devices(Event::Services(services))).await;
        }),
    }
}

fn search(path: &Path, wanted: Search) -> Option<Found> {
    // Opening a FIFO would block.
    let stamp = path.metadata().ok().filter(std::fs::Metadata::is_file);
    let stamp = stamp.map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    if stamp == wanted.known && !wanted.again {
        return None;
    }
    if stamp.is_none() {
        return Some(Found::default());
    }
    let found = File::open(path).and_then(|file| find(file, &wanted.macs));
    let vendors = found.unwrap_or_else(|error| {
        log::warn!("{}: {error}", path.display());
        wanted.macs.into_iter().map(|mac| (mac, String::new())).collect()
    });
    Some(Found { stamp, vendors })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn reads_an_unchanged_file_only_for_new_devices() {
        let path = std::env::temp_dir().join(format!("fastpathd-vendors-{}", std::process::id()));
        let mac = "28:cf:e9:00:00:01".parse().unwrap();
        let wanted = |known, again| search(&path, Search { macs: vec![mac], known, again });
        assert!(wanted(None, false).is_none());
        let none = wanted(None, true).unwrap();
        assert_eq!((none.stamp, none.vendors), (None, Vec::new()));
        fs::write(&path, "28CFE9\tApple, Inc.\n").unwrap();
        let found = wanted(None, false).unwrap();
        assert_eq!(found.vendors, [(mac, "Apple, Inc.".to_owned())]);
        assert!(wanted(found.stamp, false).is_none());
        assert!(wanted(found.stamp, true).is_some());
        fs::write(&path, "0".repeat(1000)).unwrap();
        let damaged = wanted(found.stamp, false).unwrap();
        assert_eq!(damaged.vendors, [(mac, String::new())]);
        assert!(damaged.stamp.is_some() && wanted(damaged.stamp, false).is_none());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(wanted(damaged.stamp, false).unwrap().stamp, None);
        fs::remove_dir(&path).unwrap();
    }
}
