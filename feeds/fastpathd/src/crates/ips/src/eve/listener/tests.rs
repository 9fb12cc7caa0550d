// SPDX-License-Identifier: GPL-2.0-or-later
use std::os::unix::fs::MetadataExt;

use tokio::io::AsyncWriteExt;

use super::*;
use crate::eve::Event;

struct Heard {
    path: PathBuf,
    listener: EventListener,
    user: u32,
}

/// Returns a listener for the user of this test; `name` becomes part of the socket's name.
fn listener(name: &str) -> Heard {
    let path = std::env::temp_dir().join(format!("ips-{name}-{}.sock", std::process::id()));
    std::fs::write(&path, "left over").unwrap();
    let user = std::fs::metadata(&path).unwrap().uid();
    let listener = EventListener::bind(&path, [vec![user], vec![]], Rates::default()).unwrap();
    Heard { path, listener, user }
}

impl Heard {
    async fn next(&mut self) -> Batch {
        let next = self.listener.next(|| Duration::ZERO);
        tokio::time::timeout(Duration::from_secs(60), next).await.expect("in time").unwrap()
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.path).await.unwrap()
    }
}

const DROP: &[u8] = b"{\"event_type\":\"drop\"}\n";

#[tokio::test]
async fn receives_lines_until_the_connection_ends() {
    let mut heard = listener("lines");
    let mut suricata = heard.connect().await;
    assert!(heard.next().await.connected);
    suricata.write_all(&DROP[..5]).await.unwrap();
    assert_eq!(heard.next().await.events, []);
    suricata.write_all(&DROP[5..]).await.unwrap();
    assert_eq!(heard.next().await.events, [Event::Drop]);
    drop(suricata);
    let batch = heard.next().await;
    assert_eq!((batch.connected, batch.counts.lines), (false, 1));
}

#[tokio::test]
async fn a_new_connection_replaces_the_old_one() {
    let mut heard = listener("newest");
    let mut old = heard.connect().await;
    assert!(heard.next().await.connected);
    old.write_all(&DROP[..5]).await.unwrap();
    heard.next().await;
    let mut new = heard.connect().await;
    assert!(heard.next().await.connected);
    new.write_all(DROP).await.unwrap();
    assert_eq!(heard.next().await.events, [Event::Drop], "the half line is forgotten");
    assert!(old.write_all(DROP).await.is_err(), "the old one is closed");
}

#[tokio::test]
async fn refuses_connections_of_other_users() {
    let mut heard = listener("strangers");
    heard.listener.users = vec![heard.user + 1];
    let _stranger = heard.connect().await;
    let batch = heard.next().await;
    assert_eq!((batch.connected, batch.counts.strangers), (false, 1));
    heard.listener.testers = vec![heard.user];
    let _tester = heard.connect().await;
    let batch = heard.next().await;
    assert_eq!((batch.connected, batch.counts.strangers), (false, 1), "a test of rules");
}

#[tokio::test]
async fn all_users_may_write_to_the_socket_and_drop_removes_it() {
    let heard = listener("mode");
    let mode = std::fs::metadata(&heard.path).unwrap().mode();
    assert_eq!(mode & 0o777, 0o666);
    let path = heard.path.clone();
    drop(heard);
    assert!(!path.exists());
}

#[tokio::test]
async fn an_impossible_path_is_reported() {
    let error =
        EventListener::bind(Path::new("/proc/no/eve.sock"), [vec![], vec![]], Rates::default());
    let error = error.expect_err("no such folder").to_string();
    assert!(error.starts_with("cannot make the socket for Suricata's events, /proc/no"), "{error}");
}

#[tokio::test]
async fn a_flood_is_drained() {
    let mut heard = listener("flood");
    let mut suricata = heard.connect().await;
    assert!(heard.next().await.connected);
    let writer = tokio::spawn(async move {
        let piece = DROP.repeat(1000);
        for _ in 0..50 {
            suricata.write_all(&piece).await.unwrap();
        }
    });
    let mut events = 0;
    loop {
        let batch = heard.next().await;
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
