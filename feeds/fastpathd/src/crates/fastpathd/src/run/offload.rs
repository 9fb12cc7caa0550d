// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs nft and the eBPF loader one job at a time, watches nftables' rules and `IPsec` policies,
//! and saves the generation of the rules in force.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctnetlink::{Revision, RevisionError, RevisionSocket, Revisions};
use gateway::core::Core;
use gateway::event::Event as AnyEvent;
use gateway::offload::ebpf::AttachRequest;
use gateway::offload::flowtable::{Job, JobFailure};
use gateway::offload::hardware::HardwarePorts;
use gateway::offload::{Effect, Event};
use gateway::sys::error::chain;
use netlink::{AsyncSocket, DUMP, Dump, Protocol, REQUEST, RequestError, overrun};
use ruleset::{ForeignRules, NftCommand};
use tokio::sync::mpsc::Sender;
use topology::Name;

use crate::io::Io;
use crate::run::ips::read_table;
use crate::sys::file;
use crate::sys::task::spawn_local;

mod attach;
mod hardware;
pub(crate) mod switches;

pub(crate) use attach::clear as detach_all;

pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(5);
const POLICY_DEBOUNCE: Duration = Duration::from_millis(50);

/// Family (`NFPROTO_INET`) and name of our table.
pub(crate) const TABLE: (u8, &str) = (1, "fastpath");

pub(crate) fn subscribe() -> Result<RevisionSocket, RevisionError> {
    let (family, table) = TABLE;
    RevisionSocket::open(Revisions::of(family, table))
}

pub(crate) async fn watch(
    mut opened: Result<RevisionSocket, RevisionError>,
    events: Sender<AnyEvent>,
) {
    loop {
        let failure = match opened {
            Ok(mut socket) => loop {
                match socket.recv().await {
                    Ok(revision) => {
                        let event = AnyEvent::Offload(Event::RulesChanged(revision));
                        if events.send(event).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        log::error!("rules: {}", chain(&failure));
        tokio::time::sleep(RETRY_INTERVAL).await;
        opened = subscribe();
        let event = AnyEvent::Offload(Event::RulesChanged(Revision::UNKNOWN));
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// Watches `IPsec` policies until the daemon ends, because flows that are already offloaded would
/// bypass a new policy in plain text.
pub(crate) async fn watch_policies(events: Sender<AnyEvent>) {
    /// `XFRMNLGRP_POLICY`.
    const POLICIES: u32 = 4;
    loop {
        // Fails without the kernel module, and then there are no policies.
        let opened = AsyncSocket::open(Protocol::Xfrm, &[POLICIES]);
        if let Ok(socket) = opened
            && follow_policies(socket, &events).await.is_none()
        {
            return;
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Follows the socket. Returns `None` if the daemon ends, `Some` after a failure.
async fn follow_policies(mut socket: AsyncSocket, events: &Sender<AnyEvent>) -> Option<()> {
    // Existing policies may be newer than the rules in force.
    let mut changed = has_policies().await;
    loop {
        if changed {
            events.send(AnyEvent::Offload(Event::PoliciesChanged)).await.ok()?;
        }
        let received = socket.recv().await.map(drop);
        if received.is_err_and(|error| !overrun(&error)) {
            return Some(());
        }
        // A VPN program adds several policies at once.
        tokio::time::sleep(POLICY_DEBOUNCE).await;
        while socket.try_recv().is_ok_and(|more| more.is_some()) {}
        changed = true;
    }
}

/// Returns whether the kernel has any policy, or does not answer.
async fn has_policies() -> bool {
    /// `XFRM_MSG_GETPOLICY`, and `struct xfrm_userpolicy_id`.
    const GETPOLICY: u16 = 0x15;
    const ID: [u8; 64] = [0; 64];
    let mut any = false;
    let request = async {
        let mut dump = Dump::open(Protocol::Xfrm)?;
        dump.start(|seq| netlink::message(GETPOLICY, REQUEST | DUMP, seq, &ID))?;
        while dump.next(|_| any = true).await? {}
        Ok::<_, RequestError>(())
    };
    request.await.is_err() || any
}

pub(crate) fn execute(effect: Effect, core: &Core, io: &Io) {
    match effect {
        Effect::Run(job) => run_job(job, core, io),
        Effect::ReadRules => {
            let (nft, events) = (io.nft.clone(), io.events.clone());
            spawn_local(async move {
                let event = Event::RulesRead(read_rules(&nft).await);
                let _ = events.send(AnyEvent::Offload(event)).await;
            });
        }
        Effect::Attach(request) => attach_programs(request, io),
        Effect::Step => {
            let events = io.events.clone();
            spawn_local(async move {
                let _ = events.send(AnyEvent::Offload(Event::Step)).await;
            });
        }
        Effect::SaveGeneration => spawn_local(save_generation(io.paths.generation())),
    }
}

/// Checks once whether the kernel has flowtables for bridges.
pub(crate) async fn probe_bridge(nft: NftCommand, events: Sender<AnyEvent>) {
    let found = ruleset::has_bridge_flowtable(&nft).await;
    let _ = events.send(AnyEvent::Offload(Event::BridgeFlowtable(found))).await;
}

pub(crate) async fn read_rules(nft: &NftCommand) -> Result<ForeignRules, String> {
    ForeignRules::read(nft).await.map_err(|error| chain(&error))
}

fn run_job(job: Job, core: &Core, io: &Io) {
    let (nft, events, lock) = (io.nft.clone(), io.events.clone(), io.table_lock.clone());
    let blocks = core.ips().blocks(core.now().mono);
    let counts = core.ips().inspection().is_enabled();
    let tunnels = core.network().topology().tunnels(true);
    spawn_local(async move {
        let _guard = lock.lock().await;
        if counts {
            // The job may replace the table, which resets its counters, so read them first.
            read_table(&nft, &events).await;
        }
        let ports = hardware_ports(&job, &tunnels);
        let result = match &job {
            Job::Apply { plan, in_force } => {
                ruleset::apply(&nft, plan, in_force.as_ref(), &blocks).await
            }
            Job::Renew(plan) => ruleset::renew(&nft, plan, &blocks).await,
        };
        let event = Event::Applied(result.map_err(|error| JobFailure::of(&error)));
        let _ = events.send(AnyEvent::Offload(Event::HardwarePorts(ports))).await;
        let _ = events.send(AnyEvent::Offload(event)).await;
    });
}

/// Returns the table's ports with hardware support, if the plan wants them. Asks the drivers each
/// time, because ethtool may have changed the feature.
fn hardware_ports(job: &Job, tunnels: &BTreeSet<Name>) -> Option<HardwarePorts> {
    let plan = job.plan();
    let port = |device: &&String| !tunnels.contains(device.as_str());
    let ports = plan.devices.iter().filter(port).cloned().collect();
    plan.hardware.then(|| hardware::ports(&ports))?
}

fn attach_programs(request: AttachRequest, io: &Io) {
    let (events, lock) = (io.events.clone(), io.programs_lock.clone());
    spawn_local(async move {
        let _guard = lock.lock().await;
        let result = attach::set(&request).await;
        let _ = events.send(AnyEvent::Offload(Event::Attached(Box::new(result)))).await;
    });
}

/// Returns whether nftables' rules are unchanged since their generation was saved.
pub(crate) async fn rules_are_known(saved: &Path) -> bool {
    let before = std::fs::read_to_string(saved).unwrap_or_default();
    let now = ctnetlink::generation().await;
    now.is_ok_and(|now| before == now.to_string())
}

/// Saves the generation of the rules in force. Each later change triggers another call.
async fn save_generation(saved: PathBuf) {
    let written = match ctnetlink::generation().await {
        Ok(now) => file::write(&saved, &now.to_string()),
        Err(error) => Err(format!("reading the generation of the rules: {error}")),
    };
    if let Err(why) = written {
        log::warn!("{why}");
        // An outdated generation must not be trusted.
        let _ = std::fs::remove_file(saved);
    }
}
