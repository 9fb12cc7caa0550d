// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes Suricata's files (`suricata.yaml`, `arguments`, `cpus`) and receives its events.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gateway::event::Event as AnyEvent;
use gateway::ips::Event;
use gateway::ips::inspection::Instruction;
use gateway::sys::error::chain;
use ips::{EventListener, Rates, WantedKinds};
use tokio::sync::mpsc::Sender;

use crate::sys::file::{remove, write};

const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The folder that Suricata and the daemon share.
#[derive(Debug, Clone)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn events(&self) -> PathBuf {
        self.0.join("eve.sock")
    }

    pub(crate) fn write(&self, instruction: &Instruction) -> Result<(), String> {
        let [yaml, arguments, cpus] =
            ["suricata.yaml", "arguments", "cpus"].map(|name| self.0.join(name));
        match instruction {
            Instruction::Run(overlay) => {
                write(&cpus, &overlay.cpus)?;
                write(&yaml, &overlay.yaml)?;
                write(&arguments, &overlay.arguments)
            }
            Instruction::Stop => [yaml, arguments, cpus].iter().try_for_each(|file| remove(file)),
        }
    }
}

pub(crate) async fn listen(
    folder: Folder,
    started: Instant,
    wanted: WantedKinds,
    events: Sender<AnyEvent>,
) {
    let seed = RandomState::new().build_hasher().finish();
    loop {
        let path = folder.events();
        let rates = Rates { seed, ..Rates::default() };
        let failure = match EventListener::bind(&path, users(), rates) {
            Ok(mut listener) => {
                listener.keep(wanted.clone());
                loop {
                    match listener.next(|| started.elapsed()).await {
                        Ok(batch) => {
                            let event = AnyEvent::Ips(Event::Events(Box::new(batch)));
                            if events.send(event).await.is_err() {
                                return;
                            }
                        }
                        Err(error) => break error,
                    }
                }
            }
            Err(error) => error,
        };
        log::error!("{}", chain(&failure));
        tokio::time::sleep(RETRY_INTERVAL).await;
        if events.is_closed() {
            return;
        }
    }
}

/// Returns the users that may send events (root and Suricata's user), and the user of
/// `fastpath-rules`, whose `suricata -T` opens the same socket.
fn users() -> [Vec<u32>; 2] {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let id = |name: &str| {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
        })
    };
    let suricata = std::iter::once(0).chain(id("suricata")).collect();
    [suricata, id("fastpath-rules").into_iter().collect()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway::ips::inspection::SuricataFiles;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fastpathd-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn writes_and_removes_an_overlay() {
        let folder = Folder(folder("overlay"));
        let run = Instruction::Run(SuricataFiles {
            yaml: "%YAML 1.1\n".into(),
            arguments: "-q\n0\n".into(),
            cpus: "1".into(),
        });
        folder.write(&run).unwrap();
        let read = |name| fs::read_to_string(folder.0.join(name));
        assert_eq!(read("arguments").unwrap(), "-q\n0\n");
        folder.write(&Instruction::Stop).unwrap();
        folder.write(&Instruction::Stop).unwrap();
        assert!(read("suricata.yaml").is_err());
        fs::remove_dir_all(&folder.0).unwrap();
        let error = folder.write(&run).unwrap_err();
        assert!(error.contains("cpus: No such file"), "{error}");
    }
}
