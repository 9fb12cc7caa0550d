// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures the daemon's core with multiples of 100,000 recorded connections: memory, recovery
//! after a restart, the work of a second, events, and answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ctnetlink::Event;
use ebpf::folder::Folder;
use ebpf::pinned::Pinned;
use ebpf::programs::{Dsa, LoadOptions, Programs};
use gateway::offload::ebpf::OpenMaps;
use serde_json::{Value, json};

use crate::copies::vary;
use crate::measure::{count, memory_mb, pages};
use crate::router::{HOST, Router};
use crate::{Failure, child, maps};

/// Connections of a recording.
const RECORDED: usize = 100_000;
/// Multiples of the recording if none are named.
const COPIES: [u8; 3] = [1, 2, 10];
const KINDS: [&str; 3] = ["flowtable", "flowtable+export", "ebpf"];
/// Seconds whose longest step counts.
const SECONDS: usize = 5;

/// Names and values, in the order of the table.
pub(crate) type Figures = Vec<(String, f64)>;

/// Measures each kind and size in a separate process, and prints a table for each kind.
pub(crate) fn all(folder: &Path, sizes: &[&str]) -> Result<(), Failure> {
    let (dump, events) = (folder.join("million.nl"), folder.join("million.events"));
    std::fs::create_dir_all(folder)?;
    let [dump, events] = [&dump, &events].map(|file| file.to_string_lossy().into_owned());
    if !Path::new(&events).exists() {
        eprintln!("recording {RECORDED} connections and their events …");
        child(&["record", &RECORDED.to_string(), &dump, &events])?;
    }
    let sizes: Vec<u8> = sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { &COPIES[..] } else { &sizes[..] };
    let mut report = json!({});
    let mut table = |kind: &str, columns: &[(String, Figures)]| {
        let head: Vec<String> = columns.iter().map(|(head, _)| format!("{head:>12}")).collect();
        println!("{kind:<52}{}", head.concat());
        let rows = columns.first().map_or(0, |(_, figures)| figures.len());
        for row in 0..rows {
            let values = columns.iter().map(|(_, figures)| figures[row].1);
            let cells: Vec<String> = values.map(|value| format!("{value:>12.2}")).collect();
            println!("  {:<50}{}", columns[0].1[row].0, cells.concat());
        }
        report[kind] = json!(columns);
    };
    let figures = |arguments: &[&str]| -> Result<Figures, Failure> {
        Ok(serde_json::from_str(&child(arguments)?)?)
    };
    table("conntrack in this kernel", &[(String::new(), figures(&["kernel"])?)]);
    for kind in KINDS {
        let mut columns = Vec::new();
        for copies in sizes {
            let found = figures(&["core", kind, &copies.to_string(), &dump, &events])?;
            columns.push(((usize::from(*copies) * RECORDED).to_string(), found));
        }
        table(kind, &columns);
    }
    std::fs::write(folder.join("million.json"), report.to_string())?;
    Ok(())
}

/// Measures one kind with `copies` of the recording. Prints the figures as one line.
pub(crate) fn one(kind: &str, copies: &str, dump: &Path, events: &Path) -> Result<(), Failure> {
    let copies: u8 = copies.parse()?;
    let mut figures = Figures::new();
    let mut note = |name: &str, value: f64| figures.push((name.to_owned(), value));
    let (engine, export) = kind.split_once('+').map_or((kind, false), |(engine, _)| (engine, true));
    let connections = u32::from(copies) * u32::try_from(RECORDED)?;
    let maps = (engine == "ebpf").then(|| Loaded::new(3 * connections)).transpose()?;
    if let Some(maps) = &maps {
        maps::measure(&mut maps.open()?, connections, &mut note)?;
    }
    let opened = || maps.as_ref().map(Loaded::opened).transpose();
    let before = memory_mb("VmRSS:")?;
    let mut router = Router::new(engine, export, opened()?, copies, |_| HOST);
    router.dump(dump, copies, 0)?;
    let flows = count(router.flows());
    note("flows", flows);
    note_steps("first dump", router.spent(), &mut note);
    router.dump(dump, copies, 1)?;
    note_steps("next dump, all flows have grown", router.spent(), &mut note);
    router.change_network();
    router.dump(dump, copies, 1)?;
    note_steps("dump after a change of the network", router.spent(), &mut note);
    let grown = memory_mb("VmRSS:")? - before;
    note("memory of a flow, bytes", grown * 1024.0 * 1024.0 / flows);
    for _ in 0..SECONDS {
        router.second();
    }
    note("longest second without a dump, ms", ms(router.spent()[1]));
    ask(&mut router, &mut note)?;
    note("peak memory, MB", memory_mb("VmHWM:")?);
    let [begins, changes, ends] = event_messages(events, copies - 1)?;
    router.events(&ends);
    let mut each = [0.0; 3];
    for (at, (name, messages)) in
        [("begin", &begins), ("change", &changes), ("end", &ends)].into_iter().enumerate()
    {
        router.spent();
        router.events(messages);
        let [spent, longest] = router.spent();
        each[at] = ms(spent) * 1000.0 / count(messages.len());
        note(&format!("event of a {name}, µs"), each[at]);
        note(&format!("longest 64 events of a {name}, ms"), ms(longest));
    }
    let rate = count(changes.len()) / count(begins.len());
    note("changes of a connection", rate);
    note("connections a second of CPU", 1e6 / (each[0] + rate * each[1] + each[2]));
    if export {
        note("flow records", count(router.records));
    }
    if maps.is_some() {
        router.events(&begins);
        router.events(&changes);
        note("flows offloaded by eBPF", count(usize::try_from(router.offloaded())?));
        drop(router);
        let mut router = Router::new(engine, export, opened()?, copies, |_| HOST);
        note_steps("restart: entries found in the maps", router.spent(), &mut note);
        router.dump(dump, copies, 2)?;
        note_steps("first dump after a restart", router.spent(), &mut note);
        note(
            "flows offloaded by eBPF after a restart",
            count(usize::try_from(router.offloaded())?),
        );
        router.change_rules();
        note_steps("change of the rules, all flows leave the maps", router.spent(), &mut note);
        note("flows offloaded by eBPF after it", count(usize::try_from(router.offloaded())?));
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

fn note_steps(name: &str, [spent, longest]: [Duration; 2], note: &mut impl FnMut(&str, f64)) {
    note(&format!("{name}, s"), spent.as_secs_f64());
    note(&format!("{name}, longest step, ms"), ms(longest));
}

/// Measures answers: the best of three, the slowest request of a kind.
fn ask(router: &mut Router, note: &mut impl FnMut(&str, f64)) -> Result<(), Failure> {
    let mut slowest = |name: &str, method: &str, requests: &[Value]| -> Result<(), Failure> {
        let (mut time, mut size) = (0_f64, 0_f64);
        for request in requests {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let answer = router.call(method, request)?;
                best = best.min(ms(answer.took));
                size = size.max(count(answer.bytes));
            }
            time = time.max(best);
        }
        note(&format!("{name}, ms"), time);
        note(&format!("{name}, kB"), size / 1000.0);
        Ok(())
    };
    let (groups, lists): (Vec<Value>, Vec<Value>) =
        pages().into_iter().partition(|request| request.get("group").is_some());
    slowest("status", "status", &[json!({})])?;
    slowest("metrics", "metrics", &[json!({})])?;
    slowest("top", "top", &[json!({ "by": "host" }), json!({ "by": "service" })])?;
    slowest("flows, slowest list", "flows", &lists)?;
    slowest("flows, slowest grouping", "flows", &groups)
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Reads recorded events as those of a copy, apart by kind: begin, change, end.
fn event_messages(file: &Path, copy: u8) -> Result<[Vec<Vec<u8>>; 3], Failure> {
    let bytes = std::fs::read(file)?;
    let mut kinds = [const { Vec::new() }; 3];
    for message in netlink::messages(&bytes) {
        let mut one = netlink::message(message.kind, message.flags, message.seq, message.payload);
        vary(&mut one, copy, 2);
        let kind = match ctnetlink::events(&one).next() {
            Some(Event::New(_)) => 0,
            Some(Event::Update(_)) => 1,
            Some(Event::Destroy(_)) => 2,
            None => continue,
        };
        kinds[kind].push(one);
    }
    Ok(kinds)
}

/// The programs' maps in the kernel, until this is dropped.
struct Loaded(PathBuf);

impl Loaded {
    /// Loads the object that `SCALE_OBJECT` names, with maps of this capacity.
    fn new(flows: u32) -> Result<Self, Failure> {
        let object = std::env::var_os("SCALE_OBJECT").ok_or("SCALE_OBJECT names no object")?;
        let folder = PathBuf::from(format!("/sys/fs/bpf/scale-{}", std::process::id()));
        let loaded = Self(folder);
        let options = LoadOptions { flows, dsa: Dsa::default() };
        Programs::load(&std::fs::read(object)?, Some(&Folder::new(&loaded.0)), options)?;
        Ok(loaded)
    }

    fn open(&self) -> Result<Pinned, Failure> {
        Ok(Pinned::open(&Folder::new(&self.0), Dsa::default())?)
    }

    fn opened(&self) -> Result<OpenMaps, Failure> {
        let maps = self.open()?;
        Ok(OpenMaps { capacity: maps.capacity(), id: maps.id(), maps: Box::new(maps) })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
