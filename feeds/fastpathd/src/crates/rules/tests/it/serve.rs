// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the service that runs updates for the daemon.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

struct Service(Child, PathBuf);

impl Service {
    fn start(socket: &Path, store: &Path, own: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fastpath-rules"));
        let child = command.arg("serve").args([socket, store, own]).spawn().expect("it starts");
        Self(child, socket.to_owned())
    }

    fn connect(&self) -> UnixStream {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            match UnixStream::connect(&self.1) {
                Ok(stream) => return stream,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn answer(&self, request: &str) -> serde_json::Value {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        serde_json::from_str(said.lines().last().unwrap_or_default()).expect(&said)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serves_requests_sequentially() {
    let folder = std::env::temp_dir().join(format!("fastpath-serve-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("update.sock");
    // Stale socket of a killed service.
    fs::write(&socket, "").unwrap();
    let (store, own) = (folder.join("store"), folder.join("own.rules"));
    fs::write(&own, "alert icmp any any -> any any (sid:1;)\n").unwrap();
    let service = Service::start(&socket, &store, &own);
    let bad = service.answer("{}");
    assert_eq!((&bad["event"], &bad["outcome"]), (&"result".into(), &"failed".into()), "{bad}");
    let current = || fs::read(store.join("current.rules")).unwrap();
    assert_eq!(current(), fs::read(&own).unwrap(), "an empty store gets the firmware's rules");
    let request = serde_json::json!({
        "sources": [], "builtin": null, "store": store, "limit_bytes": 1_048_576,
        "test": ["true", "{rules}"], "download": false,
    });
    let good = service.answer(&request.to_string());
    assert_eq!(good["event"], "result", "{good}");
    assert!(store.join("state.json").exists(), "{good}");
    drop(service);
    fs::write(store.join("current.rules"), "fetched").unwrap();
    let service = Service::start(&socket, &store, &own);
    service.answer("{}");
    assert_eq!(current(), b"fetched", "the rules of an update stay");
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o666, "its folder says who may connect");
    fs::remove_dir_all(&folder).unwrap();
}
