// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use super::*;
use crate::draft::Draft;
use crate::record::{Head, State};
use crate::sample::draft;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("change-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("etc/config")).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pending(id: u64) -> Pending {
    Pending {
        head: Head { id, at_ms: 7, user: "ann".into(), note: "n".into() },
        seconds: 30,
        draft: draft(json!([{"config": "network", "op": "delete", "section": "iot"}])),
        files: BTreeMap::from([("network".to_owned(), FileText(b"config x\n".to_vec()))]),
        system: None,
        end_connections: false,
    }
}

#[test]
fn reading_a_stored_record_returns_it_unchanged() {
    let folder = Folder::new("records");
    let store = Store::below(&folder.0);
    assert!(store.pending().unwrap().is_none() && store.records().unwrap().is_empty());
    store.set_pending(&pending(3)).unwrap();
    let back = store.pending().unwrap().unwrap();
    assert_eq!(json!(back), json!(pending(3)));
    assert_eq!(back.draft.pairs().len(), pending(3).draft.before["network"].sections.len());
    store.drop_pending().unwrap();
    assert!(store.pending().unwrap().is_none());
    for id in 1..=12 {
        store.add_record(&pending(id).ended(State::Expired)).unwrap();
    }
    let ids: Vec<u64> = store.records().unwrap().iter().map(|record| record.head.id).collect();
    assert_eq!(ids, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    assert_eq!(store.next_id().unwrap(), 13);
    assert_eq!(store.record(5).unwrap().unwrap().state, State::Expired);
    assert!(store.record(1).unwrap().is_none());
}

#[test]
fn limits_the_total_size_of_records() {
    let folder = Folder::new("long");
    let store = Store::below(&folder.0);
    let long = |id, bytes| {
        let mut record = pending(id).ended(State::Confirmed);
        record.head.note = "x".repeat(bytes);
        record
    };
    for id in 1..=8 {
        store.add_record(&long(id, 300 << 10)).unwrap();
    }
    let ids = || store.records().unwrap().iter().map(|of| of.head.id).collect::<Vec<u64>>();
    assert_eq!(ids(), [8, 7, 6]);
    store.add_record(&long(9, 2 << 20)).unwrap();
    assert_eq!(ids(), [9]);
    assert_eq!(store.next_id().unwrap(), 10);
}

#[test]
fn only_root_can_read_records() {
    let folder = Folder::new("modes");
    let store = Store::below(&folder.0);
    store.set_pending(&pending(1)).unwrap();
    store.add_record(&pending(1).ended(State::Confirmed)).unwrap();
    let mode = |path: &str| fs::metadata(folder.0.join(path)).unwrap().mode() & 0o777;
    assert_eq!(mode("etc/fastpath/changes"), 0o700);
    assert_eq!(mode("etc/fastpath/changes/pending.json"), 0o600);
    assert_eq!(mode("etc/fastpath/changes/1.json"), 0o600);
}

#[test]
fn a_broken_record_is_skipped() {
    let folder = Folder::new("history");
    let store = Store::below(&folder.0);
    store.set_pending(&pending(1)).unwrap();
    fs::write(folder.0.join("etc/fastpath/changes/4.json"), "nonsense").unwrap();
    assert!(store.records().unwrap().is_empty());
}

#[test]
fn replacing_a_configuration_file_keeps_its_mode() {
    let folder = Folder::new("config");
    let store = Store::below(&folder.0);
    let path = folder.0.join("etc/config/network");
    fs::write(&path, "old").unwrap();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&path, readable).unwrap();
    store.set_config("network", b"new").unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    assert_eq!(fs::read_dir(folder.0.join("etc/config")).unwrap().count(), 1);
}

#[test]
fn a_lock_is_released_with_its_holder() {
    let folder = Folder::new("lock");
    let store = Store::below(&folder.0);
    let held = store.lock().unwrap().unwrap();
    let path = folder.0.join("var/run/fastpath-change/lock");
    assert!(matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
    drop(held);
    assert!(store.lock().unwrap().is_some());
}

#[test]
fn a_boot_after_a_power_cut_restores_the_old_files() {
    let folder = Folder::new("power");
    let store = Store::below(&folder.0);
    store.set_pending(&pending(4)).unwrap();
    store.set_config("network", b"config new\n").unwrap();
    crate::watch::roll_back_at_boot(&store).unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), b"config x\n");
    assert_eq!(store.record(4).unwrap().unwrap().state, State::PowerCut);
    assert!(store.pending().unwrap().is_none());
    // A second boot changes nothing.
    store.set_config("network", b"config newer\n").unwrap();
    crate::watch::roll_back_at_boot(&store).unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), b"config newer\n");
}

/// Returns a store with the pending change of another build of the system.
fn upgraded(name: &str) -> (Folder, Store) {
    let folder = Folder::new(name);
    let store = Store::below(&folder.0);
    fs::write(folder.0.join("etc/openwrt_release"), "DISTRIB_REVISION='r2'\n").unwrap();
    let mut pending = pending(4);
    pending.files = BTreeMap::from([(
        "network".to_owned(),
        FileText(text("network", &pending, false).into_bytes()),
    )]);
    pending.system = Some("DISTRIB_REVISION='r1'\n".to_owned());
    store.set_pending(&pending).unwrap();
    (folder, store)
}

fn text(config: &str, pending: &Pending, after: bool) -> String {
    let Draft { before, after: new, .. } = &pending.draft;
    ::uci::text(if after { &new[config] } else { &before[config] })
}

#[test]
fn a_change_of_another_system_is_rolled_back_if_the_file_was_not_edited() {
    let (_folder, store) = upgraded("upgraded");
    let pending = store.pending().unwrap().unwrap();
    // uci may format the same content differently.
    let new = format!("# by uci\n{}", text("network", &pending, true));
    store.set_config("network", new.as_bytes()).unwrap();
    crate::watch::roll_back_at_boot(&store).unwrap();
    let now = store.config("network").unwrap().unwrap();
    assert_eq!(String::from_utf8(now).unwrap(), text("network", &pending, false));
    assert_eq!(store.record(4).unwrap().unwrap().state, State::PowerCut);
}

// fastpath was removed and reinstalled much later.
#[test]
fn a_stale_change_of_another_system_does_not_replace_later_edits() {
    let (_folder, store) = upgraded("stale");
    let pending = store.pending().unwrap().unwrap();
    let edited = text("network", &pending, true) + "\nconfig interface 'later'\n";
    store.set_config("network", edited.as_bytes()).unwrap();
    assert_eq!(store.restore(&pending, None).unwrap(), ["network"]);
    crate::watch::roll_back_at_boot(&store).unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), edited.as_bytes());
    assert!(store.pending().unwrap().is_none(), "it is dropped");
}

#[test]
fn a_damaged_file_is_also_replaced_on_another_system() {
    let (_folder, store) = upgraded("damaged");
    let pending = store.pending().unwrap().unwrap();
    for damaged in ["", "config interface 'x\n", "\u{0}\u{0}"] {
        store.set_config("network", damaged.as_bytes()).unwrap();
        assert!(store.restore(&pending, None).unwrap().is_empty(), "{damaged:?}");
    }
}

#[test]
fn a_pending_change_is_rolled_back_before_an_upgrade() {
    let folder = Folder::new("leave");
    let store = Store::below(&folder.0);
    crate::watch::roll_back_before_upgrade(&store).unwrap();
    assert!(store.records().unwrap().is_empty(), "nothing waits");
    store.set_pending(&pending(4)).unwrap();
    store.set_config("network", b"config new\n").unwrap();
    let applied = BTreeMap::from([("network".to_owned(), FileText(b"config new\n".to_vec()))]);
    let running = Running { id: 4, session: "s".into(), until_up_ms: 7, applied };
    store.set_running(&running).unwrap();
    crate::watch::roll_back_before_upgrade(&store).unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), b"config x\n");
    assert_eq!(store.record(4).unwrap().unwrap().state, State::PowerCut);
    assert!(store.pending().unwrap().is_none() && store.running().unwrap().is_none());
    assert!(store.lock().unwrap().is_some(), "the lock is free");
}

// The file of an ended change reappears if its removal was not flushed, or from a backup.
#[test]
fn an_ended_change_is_not_rolled_back() {
    let folder = Folder::new("ended");
    let store = Store::below(&folder.0);
    for (newest, state) in [(4, State::Confirmed), (5, State::Confirmed), (6, State::Expired)] {
        store.set_config("network", b"config new\n").unwrap();
        store.set_pending(&pending(4)).unwrap();
        store.add_record(&pending(newest).ended(state)).unwrap();
        crate::watch::roll_back_at_boot(&store).unwrap();
        assert_eq!(store.config("network").unwrap().unwrap(), b"config new\n");
        assert_eq!(store.record(newest).unwrap().unwrap().state, state);
        assert!(!folder.0.join("etc/fastpath/changes/pending.json").exists());
    }
    assert_eq!(store.record(4).unwrap().unwrap().state, State::Confirmed);
}

#[test]
fn a_rollback_keeps_later_edits_of_a_file() {
    let folder = Folder::new("since");
    let store = Store::below(&folder.0);
    let applied = BTreeMap::from([("network".to_owned(), FileText(b"config new\n".to_vec()))]);
    store.set_config("network", b"config elsewhere\n").unwrap();
    assert_eq!(store.restore(&pending(1), Some(&applied)).unwrap(), ["network"]);
    assert_eq!(store.config("network").unwrap().unwrap(), b"config elsewhere\n");
    store.set_config("network", b"config new\n").unwrap();
    assert!(store.restore(&pending(1), Some(&applied)).unwrap().is_empty());
    assert_eq!(store.config("network").unwrap().unwrap(), b"config x\n");
    // A full disk truncates the old text.
    for text in ["", "config"] {
        store.set_config("network", text.as_bytes()).unwrap();
        assert!(store.restore(&pending(1), Some(&applied)).unwrap().is_empty());
        assert_eq!(store.config("network").unwrap().unwrap(), b"config x\n");
    }
}

#[test]
fn an_invalid_pending_file_is_moved_aside_and_does_not_block_changes() {
    let folder = Folder::new("broken");
    let store = Store::below(&folder.0);
    store.set_pending(&pending(3)).unwrap();
    let kept = folder.0.join("etc/fastpath/changes");
    for text in ["", "{", "{\"id\": 3}", "\u{0}\u{0}"] {
        fs::write(kept.join("pending.json"), text).unwrap();
        assert!(store.pending().unwrap().is_none(), "{text:?}");
        assert_eq!(fs::read_to_string(kept.join("pending.broken")).unwrap(), text);
        assert!(!kept.join("pending.json").exists());
    }
    // The boot also moves the file aside.
    fs::write(kept.join("pending.json"), "{").unwrap();
    crate::watch::roll_back_at_boot(&store).unwrap();
    assert!(store.records().unwrap().is_empty());
    store.set_pending(&pending(4)).unwrap();
    assert_eq!(store.pending().unwrap().unwrap().head.id, 4);
}

#[test]
fn a_change_ends_even_if_it_cannot_be_recorded() {
    let folder = Folder::new("no-room");
    let store = Store::below(&folder.0);
    store.set_config("network", b"new").unwrap();
    store.set_pending(&pending(3)).unwrap();
    // A folder at the temporary path makes writing the record fail.
    fs::create_dir(folder.0.join("etc/fastpath/changes/.3.json.new")).unwrap();
    crate::watch::roll_back_at_boot(&store).unwrap();
    assert_eq!(store.config("network").unwrap().unwrap(), b"config x\n");
    assert!(store.pending().unwrap().is_none() && store.records().unwrap().is_empty());
}

// A missing file is skipped. Any other failure is an error.
#[test]
fn flushes_only_existing_files() {
    let folder = Folder::new("flushed");
    let store = Store::below(&folder.0);
    store.set_config("network", b"config x\n").unwrap();
    store.flush_configs(["network", "missing"]).unwrap();
    // A path below a file cannot be opened.
    let error = store.flush_configs(["network/none"]).unwrap_err().to_string();
    assert!(error.contains("flushing") && error.contains("network/none"), "{error}");
    fs::remove_dir_all(folder.0.join("etc/config")).unwrap();
    assert!(store.flush_configs(["network"]).is_err(), "the folder");
}
