// SPDX-License-Identifier: GPL-2.0-or-later
//! What the daemon does beside the rules: Suricata's files, blocks, CPU plan, rule updates,
//! re-inspection.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::Stdio;

use cpu::{Found, Steering};
use ctnetlink::{EntryUpdate, MarkBits, Reinspection, Select, Tuple};
use flows::Offer;
use ruleset::NftCommand;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::Sender;

use super::{Daemon, rules};
use crate::bus::{self, chain};
use crate::core::Effect;
use crate::cpu_room::Seen;
use crate::ebpf_room::{Wanted, liberal};
use crate::happening::Happening;
use crate::programs;
use crate::protection::Orders;
use crate::suricata;
use crate::task::spawn_local;
use crate::watch_ips;

/// The program that updates rules.
const UPDATER: &str = "/usr/libexec/fastpath-rules";
/// What the script that writes the CPU plan could not write.
const REFUSALS: &str = "/var/run/fastpath-cpu.refused";
/// Events on which init scripts act for us.
const SURICATA: &str = "fastpath.ips";
const CPU_PLAN: &str = "fastpath.cpu";

impl Daemon {
    pub(super) fn run_errand(&mut self, effect: Effect) {
        match effect {
            Effect::Order(orders) => self.leave(&orders),
            Effect::TellSuricata => self.tell(SURICATA),
            Effect::Block { element, flows } => self.block(*element, flows),
            Effect::Release(addresses) => self.release(addresses),
            Effect::ReadTable => self.read_table(),
            Effect::ReadMachine(devices) => self.read_machine(devices),
            Effect::KeepFound(text) => keep_found(&text),
            Effect::WriteCpuPlan(lines) => self.write_cpu_plan(&lines),
            Effect::UpdateRules(request) => {
                spawn_local(update_rules(request, self.happenings.clone()));
            }
            Effect::ReloadRules => self.reload_rules(),
            Effect::Reinspect => self.reinspect(),
            Effect::Attach(wanted) => self.attach(wanted),
            Effect::Keep(upkeep) => keep(upkeep),
            Effect::NoteRules => {
                spawn_local(rules::note(self.paths.rules()));
            }
            Effect::Renew(offers, bits) => {
                spawn_local(distrust(offers, bits, self.happenings.clone()));
            }
            Effect::Free(offers) => spawn_local(free(offers, self.happenings.clone())),
            // The others are the loop's own.
            _ => {}
        }
    }

    fn leave(&mut self, orders: &Orders) {
        let store = self.core.rules.store().to_owned();
        let provided = match orders {
            Orders::Run(_) => suricata::provide_rules(&self.paths.own_rules, &store),
            Orders::Stop => Ok(()),
        };
        if let Err(why) = provided.and_then(|()| self.paths.folder().leave(orders)) {
            log::error!("{why}");
            self.core.protection.not_written(why);
            return;
        }
        self.tell(SURICATA);
    }

    /// Tells an init script that there is something for it. Without ubus it finds out at its
    /// next start.
    fn tell(&self, event: &'static str) {
        self.with_bus(move |bus, _| async move {
            let args = json!({"type": event, "data": {}});
            let args = args.as_object().cloned().unwrap_or_else(Map::new);
            if let Err(error) = bus::event(&bus, &args).await {
                log::warn!("telling the init script of {event}: {}", chain(&error));
            }
        });
    }

    fn block(&self, element: ruleset::Block, flows: Vec<(u16, Tuple)>) {
        let (nft, turn) = (self.nft.clone(), self.turn.clone());
        spawn_local(async move {
            let _turn = turn.lock().await;
            if let Err(error) = ruleset::block(&nft, &element).await {
                log::error!("{}", chain(&error));
                return;
            }
            // What is offloaded passes the rules no more.
            if let Err(error) = ctnetlink::delete(&flows).await {
                log::error!("ending flows of {}: {}", element.address, chain(&error));
            }
        });
    }

    fn release(&self, addresses: Vec<IpAddr>) {
        let (nft, turn) = (self.nft.clone(), self.turn.clone());
        spawn_local(async move {
            let _turn = turn.lock().await;
            for address in addresses {
                if let Err(error) = ruleset::release(&nft, address).await {
                    log::error!("releasing {address}: {}", chain(&error));
                }
            }
        });
    }

    fn read_table(&self) {
        let (nft, happenings) = (self.nft.clone(), self.happenings.clone());
        spawn_local(async move { read_table(&nft, &happenings).await });
    }

    fn read_machine(&self, devices: BTreeSet<String>) {
        let bus = self.bus.clone();
        let happenings = self.happenings.clone();
        spawn_local(async move {
            let network = match &bus {
                Some(bus) => bus::package(bus, "network").await.ok().flatten(),
                None => None,
            };
            let root = Path::new("/");
            let steering = Steering::read(root, network.as_ref().and_then(packet_steering));
            match cpu::Machine::read(root, &devices) {
                Ok(machine) => {
                    let refusals = std::fs::read_to_string(REFUSALS).unwrap_or_default();
                    let seen = Seen { machine, steering, refusals };
                    let happening = Happening::Machine(Box::new(seen));
                    let _ = happenings.send(happening).await;
                }
                Err(error) => log::error!("CPU plan: {}", chain(&error)),
            }
        });
    }

    fn write_cpu_plan(&self, lines: &str) {
        match suricata::write(&self.paths.run.join("cpu.plan"), lines) {
            Ok(()) => self.tell(CPU_PLAN),
            Err(why) => log::error!("CPU plan: {why}"),
        }
    }

    fn reload_rules(&self) {
        // One that was refused with the rules before is not running, and its script tries it
        // again.
        if !self.core.protection.seen().running {
            return self.tell(SURICATA);
        }
        let socket = self.paths.commands.clone();
        spawn_local(async move {
            match watch_ips::reload(socket).await {
                Ok(()) => log::info!("Suricata loads its rules anew"),
                Err(why) => log::error!("loading the rules anew: {why}"),
            }
        });
    }

    /// Counters to zero and marks off, then a new table, so that no flow stays offloaded.
    fn reinspect(&self) {
        let (nft, happenings, turn) =
            (self.nft.clone(), self.happenings.clone(), self.turn.clone());
        // It waits for its turn, until a job under way is done.
        let plan = self.core.room.coming().cloned();
        let blocks = self.core.blocks();
        spawn_local(async move {
            let _turn = turn.lock().await;
            let result = match plan {
                Some(plan) => renew(&nft, &plan, &blocks, &happenings).await,
                None => Ok(0),
            };
            let _ = happenings.send(Happening::Reinspected(result)).await;
        });
    }

    /// One after the other, in the order in which it was asked for.
    fn attach(&self, wanted: Wanted) {
        let (happenings, turn) = (self.happenings.clone(), self.programs.clone());
        spawn_local(async move {
            let _turn = turn.lock().await;
            let result = programs::set(&wanted).await.map_err(|error| chain(&error));
            let _ = happenings.send(Happening::Attached(Box::new(result))).await;
        });
    }

    pub(super) fn answer_reinspect(&mut self, result: &Result<usize, String>) {
        for reply in self.held_reinspect.drain(..) {
            let Ok(flows) = result else {
                reply.status(ubus::Status::UnknownError);
                continue;
            };
            let answered = reply.data(&Map::from_iter([("flows".to_owned(), (*flows).into())]));
            if let Err(error) = answered {
                log::error!("ubus: answer of reinspect: {error}");
            }
        }
    }
}

/// Tells conntrack not to mind the windows of these connections.
async fn free(offers: Vec<Offer>, happenings: Sender<Happening>) {
    let upkeep: Vec<EntryUpdate> = offers.iter().map(liberal).collect();
    let told = ctnetlink::update(&upkeep).await;
    if let Err(error) = &told {
        log::error!("{}", chain(error));
    }
    let _ = happenings.send(Happening::Freed(offers, told.is_ok())).await;
}

/// Clears bits of these connections' marks.
async fn distrust(offers: Vec<Offer>, mask: u32, happenings: Sender<Happening>) {
    let keys: Vec<_> = offers.iter().map(|offer| (offer.zone, offer.orig)).collect();
    match ctnetlink::set_mark(&keys, MarkBits { value: 0, mask }).await {
        Ok(_) => drop(happenings.send(Happening::Distrusted(offers)).await),
        // They stay on the slow path.
        Err(error) => log::error!("{}", chain(&error)),
    }
}

/// Tells conntrack of connections that it sees no packets of. It has its own turn: the loop does
/// not wait for it.
fn keep(upkeep: Vec<EntryUpdate>) {
    spawn_local(async move {
        if let Err(error) = ctnetlink::update(&upkeep).await {
            log::error!("{}", chain(&error));
        }
    });
}

fn keep_found(text: &str) {
    let path = Path::new(Found::PATH);
    let kept = if text.is_empty() { suricata::remove(path) } else { suricata::write(path, text) };
    if let Err(why) = kept {
        log::error!("CPU plan: {why}");
    }
}

/// Has the core read what is in our table.
pub(super) async fn read_table(nft: &NftCommand, happenings: &Sender<Happening>) {
    match ruleset::read_back(nft).await {
        Ok(found) => {
            // Nothing is there before the first table.
            let found = Box::new(found.unwrap_or_default());
            let _ = happenings.send(Happening::ReadBack(found)).await;
        }
        Err(error) => log::debug!("reading our table: {}", chain(&error)),
    }
}

/// How many connections had left inspection.
async fn renew(
    nft: &NftCommand,
    plan: &ruleset::Plan,
    blocks: &[ruleset::Block],
    happenings: &Sender<Happening>,
) -> Result<usize, String> {
    let flows = zero(plan.mark_mask, happenings).await;
    // What a table has counted is lost with it.
    read_table(nft, happenings).await;
    // Even if that ended early: what was dealt with must not stay offloaded.
    ruleset::renew(nft, plan, blocks).await.map_err(|error| chain(&error))?;
    flows
}

/// All connections, also those that were never inspected: they would spend a budget at once that
/// a new policy gives them. How many had left inspection.
async fn zero(mask: u32, happenings: &Sender<Happening>) -> Result<usize, String> {
    let mut flows = 0;
    let mut again = Reinspection::start(mask, Select::Every).map_err(|error| chain(&error))?;
    loop {
        let mut batch = Vec::new();
        let more = again.next(&mut batch).await;
        flows += batch.iter().filter(|entry| entry.mark & mask != 0).count();
        let _ = happenings.send(Happening::Renewed(batch)).await;
        if !more.map_err(|error| chain(&error))? {
            return Ok(flows);
        }
    }
}

/// `network.globals.packet_steering`, in whatever section of that type.
fn packet_steering(network: &Value) -> Option<&str> {
    let mut sections = network.as_object()?.values();
    let globals = sections.find(|section| section[".type"] == "globals")?;
    globals.get("packet_steering")?.as_str()
}

async fn update_rules(request: String, happenings: Sender<Happening>) {
    let result = run_updater(&request, &happenings).await;
    let _ = happenings.send(Happening::RulesDone(result)).await;
}

async fn run_updater(request: &str, happenings: &Sender<Happening>) -> Result<Value, String> {
    let failed = |what: &str, error: std::io::Error| format!("{what} {UPDATER}: {error}");
    // It reads what servers on the Internet send, and so do the programs it starts.
    let mut updater = std::process::Command::new(UPDATER);
    launch::without_capabilities(updater.arg("update"));
    let mut child = Command::from(updater)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("starting", error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may give up before it has read all; what it prints says why.
        let _ = stdin.write_all(request.as_bytes()).await;
    }
    let mut result = None;
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await.map_err(|e| failed("reading", e))? {
            let Ok(said) = serde_json::from_slice::<Value>(line.as_bytes()) else { continue };
            match said["event"].as_str() {
                Some("progress") => {
                    let words = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
                    let step = format!("{} {}", words("source"), words("step"));
                    let _ = happenings.send(Happening::RulesProgress(step)).await;
                }
                _ => result = Some(said),
            }
        }
    }
    let status = child.wait().await.map_err(|error| failed("waiting for", error))?;
    result.ok_or_else(|| format!("{UPDATER} ended without a result ({status})"))
}
