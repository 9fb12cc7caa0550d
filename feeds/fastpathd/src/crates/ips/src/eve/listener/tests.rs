// SPDX-License-Identifier: GPL-2.0-or-later
use std::os::unix::fs::MetadataExt;

use tokio::io::AsyncWriteExt;

use super::*;
use crate::eve::Event;

struct Listener {
    path: PathBuf,
    events: EventListener,
    user: u32,
}

fn listener(name: &str) -> Listener {
    let path = std::env::temp_dir().join(format!("ips-{name}-{}.sock", std::process::id()));
    std::fs::write(&path, "left over").unwrap();
    let user = std::fs::metadata(&path).unwrap().uid();
    let events = EventListener::bind(&path, [vec![user], vec![]], Rates::default()).unwrap();
    Listener { path, events, user }
}

impl Listener {
    async fn next(&mut self) -> Batch {
        let next = self.events.next(|| Duration::ZERO);
        tokio::time::timeout(Duration::from_secs(60), next).await.expect("in time").unwrap()
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.path).await.unwrap()
    }
}

const DROP: &[u8] = b"{\"event_type\":\"drop\"}\n";

#[tokio::test]
async fn receives_lines_until_the_connection_ends() {
    let mut server = listener("lines");
    let mut suricata = server.connect().await;
    assert!(server.next().await.connected);
    suricata.write_all(&DROP[..5]).await.unwrap();
    assert_eq!(server.next().await.events, []);
    suricata.write_all(&DROP[5..]).await.unwrap();
    assert_eq!(server.next().await.events, [Event::Drop]);
    drop(suricata);
    let batch = server.next().await;
    assert_eq!((batch.connected, batch.counts.lines), (false, 1));
}

#[tokio::test]
async fn a_new_connection_replaces_the_old_one() {
    let mut server = listener("newest");
    let mut old = server.connect().await;
    assert!(server.next().await.connected);
    old.write_all(&DROP[..5]).await.unwrap();
    server.next().await;
    let mut new = server.connect().await;
    assert!(server.next().await.connected);
    new.write_all(DROP).await.unwrap();
    assert_eq!(server.next().await.events, [Event::Drop], "the partial line is discarded");
    assert!(old.write_all(DROP).await.is_err(), "the old connection is closed");
}

#[tokio::test]
async fn refuses_connections_of_other_users() {
    let mut server = listener("strangers");
    server.events.users = vec![server.user + 1];
    let _stranger = server.connect().await;
    let batch = server.next().await;
    assert_eq!((batch.connected, batch.counts.strangers), (false, 1));
    server.events.testers = vec![server.user];
    let _tester = server.connect().await;
    let batch = server.next().await;
    assert_eq!((batch.connected, batch.counts.strangers), (false, 1), "a tester is not a stranger");
}

#[tokio::test]
async fn the_socket_is_writable_for_all_and_removed_on_drop() {
    let server = listener("mode");
    let mode = std::fs::metadata(&server.path).unwrap().mode();
    assert_eq!(mode & 0o777, 0o666);
    let path = server.path.clone();
    drop(server);
    assert!(!path.exists());
}

#[tokio::test]
async fn reports_an_invalid_path() {
    let error =
        EventListener::bind(Path::new("/proc/no/eve.sock"), [vec![], vec![]], Rates::default());
    let error = error.expect_err("no such folder").to_string();
    assert!(error.starts_with("cannot make the socket for Suricata's events, /proc/no"), "{error}");
}

#[tokio::test]
async fn a_flood_is_drained() {
    let mut server = listener("flood");
    let mut suricata = server.connect().await;
    assert!(server.next().await.connected);
    let writer = tokio::spawn(async move {
        let piece = DROP.repeat(1000);
        for _ in 0..50 {
            suricata.write_all(&piece).await.unwrap();
        }
    });
    let mut events = 0;
    loop {
        let batch = server.next().await;
        events += batch.events.len();
        if !batch.connected {
            assert_eq!(batch.counts.lines, 50_000);
            assert_eq!(batch.counts.not_read, 48_000);
            break;
        }
    }
    assert_eq!(events, 2000);
    writer.await.unwrap();
}
