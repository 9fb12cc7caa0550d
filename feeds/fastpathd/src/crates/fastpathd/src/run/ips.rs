// SPDX-License-Identifier: GPL-2.0-or-later
//! Executes effects of inspection: instructs Suricata's init script, reloads rules, blocks sources
//! and ends their flows, re-inspects connections.

use config::Network;
use ctnetlink::{Reinspection, Select, Tuple};
use gateway::core::Core;
use gateway::event::Event as AnyEvent;
use gateway::ips::inspection::Instruction;
use gateway::ips::{Effect, Event};
use gateway::sys::error::chain;
use ruleset::NftCommand;
use tokio::sync::mpsc::Sender;

use crate::io::Io;
use crate::sys::file;
use crate::sys::task::spawn_local;

mod probe;
mod suricata;

pub(crate) use probe::ProbeControl;

const INSTRUCTION_EVENT: &str = "fastpath.ips";

pub(crate) fn start(io: &Io, control: &ProbeControl) {
    let events = &io.events;
    spawn_local(probe::watch(control.clone(), events.clone()));
    let commands = io.paths.commands.clone();
    spawn_local(probe::query_commands(commands, control.clone(), events.clone()));
    let wanted = io.wanted_events.clone();
    spawn_local(suricata::listen(folder(io), io.started, wanted, events.clone()));
}

fn folder(io: &Io) -> suricata::Folder {
    suricata::Folder(io.paths.run.join("ips"))
}

pub(crate) fn execute(effect: Effect, core: &mut Core, io: &Io) {
    match effect {
        Effect::Instruct(instruction) => instruct(&instruction, core, io),
        Effect::NotifyService => io.notify_service(INSTRUCTION_EVENT),
        Effect::ReloadRules => reload_rules(core, io),
        Effect::Block { element, flows } => block(*element, flows, io),
        Effect::Unblock(sources) => unblock(sources, io),
        Effect::ReadTable => {
            let (nft, events) = (io.nft.clone(), io.events.clone());
            spawn_local(async move { read_table(&nft, &events).await });
        }
        Effect::Reinspect => reinspect(core, io),
        Effect::SaveAlerts(text) => save_alerts(&text, io),
    }
}

/// Returns the alerts of the previous daemon. Empty if the file is not ours or too long.
pub(crate) fn saved_alerts(io: &Io) -> String {
    file::read_own(&io.paths.alerts(), ips::MAX_SAVED_LEN).unwrap_or_default()
}

/// Saves the alerts for the next daemon in `/var`, which is lost at reboot.
pub(crate) fn save_alerts(text: &str, io: &Io) {
    if let Err(why) = file::write_own(&io.paths.alerts(), text) {
        log::warn!("{why}");
    }
}

fn instruct(instruction: &Instruction, core: &mut Core, io: &Io) {
    if let Err(why) = folder(io).write(instruction) {
        log::error!("{why}");
        core.configuration_write_failed(why);
        return;
    }
    io.notify_service(INSTRUCTION_EVENT);
}

fn reload_rules(core: &Core, io: &Io) {
    // Suricata is not running if it refused its rules, so its script has to start it.
    if !core.ips().inspection().seen().running {
        return io.notify_service(INSTRUCTION_EVENT);
    }
    let socket = io.paths.commands.clone();
    spawn_local(async move {
        match probe::reload(socket).await {
            Ok(()) => log::info!("Suricata reloads its rules"),
            Err(why) => log::error!("reloading the rules: {why}"),
        }
    });
}

fn block(element: ruleset::BlockElement, flows: Vec<(u16, Tuple)>, io: &Io) {
    let (nft, lock, events) = (io.nft.clone(), io.table_lock.clone(), io.events.clone());
    spawn_local(async move {
        let _guard = lock.lock().await;
        if let Err(error) = ruleset::block(&nft, &element).await {
            log::error!("{} is not blocked: {}", element.source.brief(), chain(&error));
            let _ = events.send(AnyEvent::Ips(Event::NotBlocked(element.source))).await;
            return;
        }
        // Offloaded packets do not pass the rules, so delete their flows.
        if let Err(error) = ctnetlink::delete(&flows).await {
            log::error!("ending flows of {}: {}", element.source.brief(), chain(&error));
        }
    });
}

fn unblock(sources: Vec<Network>, io: &Io) {
    let (nft, lock, events) = (io.nft.clone(), io.table_lock.clone(), io.events.clone());
    spawn_local(async move {
        let _guard = lock.lock().await;
        for source in sources {
            if let Err(error) = ruleset::release(&nft, source).await {
                log::error!("unblocking {}: {}", source.brief(), chain(&error));
                let _ = events.send(AnyEvent::Ips(Event::StillBlocked)).await;
            }
        }
    });
}

/// Resets counters and marks, then loads a new table, so that no flow stays offloaded.
fn reinspect(core: &Core, io: &Io) {
    let (nft, events, lock) = (io.nft.clone(), io.events.clone(), io.table_lock.clone());
    // Use the plan of a running job, which holds the lock until it is done.
    let plan = core.offload().flowtable().upcoming().cloned();
    let blocks = core.ips().blocks(core.now().mono);
    spawn_local(async move {
        let _guard = lock.lock().await;
        let result = match plan {
            Some(plan) => renew(&nft, &plan, &blocks, &events).await,
            None => Ok(0),
        };
        let _ = events.send(AnyEvent::Ips(Event::Reinspected(result))).await;
    });
}

pub(crate) async fn read_table(nft: &NftCommand, events: &Sender<AnyEvent>) {
    let before = probe::queues();
    match ruleset::read_back(nft).await {
        Ok(found) => {
            let queues = [before, probe::queues()];
            // There is no table before the first job.
            let found = Box::new(found.unwrap_or_default());
            let _ = events.send(AnyEvent::Ips(Event::TableRead(found, queues))).await;
        }
        Err(error) => log::debug!("reading our table: {}", chain(&error)),
    }
}

/// Resets all connections and renews the table. Returns how many were not in inspection.
async fn renew(
    nft: &NftCommand,
    plan: &ruleset::Plan,
    blocks: &[ruleset::BlockElement],
    events: &Sender<AnyEvent>,
) -> Result<usize, String> {
    let flows = reset(plan.mark_mask, events).await;
    // Replacing the table resets its counters, so read them first.
    read_table(nft, events).await;
    // Renew after a failed reset, too: connections that were reset must not stay offloaded.
    ruleset::renew(nft, plan, blocks).await.map_err(|error| chain(&error))?;
    flows
}

/// Resets all connections, including those that were never inspected, because their counters would
/// exhaust the budget of a new policy. Returns how many were not in inspection.
async fn reset(mask: u32, events: &Sender<AnyEvent>) -> Result<usize, String> {
    let mut flows = 0;
    let mut reinspection =
        Reinspection::start(mask, Select::Every).map_err(|error| chain(&error))?;
    loop {
        let mut batch = Vec::new();
        let more = reinspection.next(&mut batch).await;
        flows += batch.iter().filter(|entry| entry.mark & mask != 0).count();
        let _ = events.send(AnyEvent::Ips(Event::Reset(batch))).await;
        if !more.map_err(|error| chain(&error))? {
            return Ok(flows);
        }
    }
}
