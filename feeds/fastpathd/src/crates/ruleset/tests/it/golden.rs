// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders configurations to rules (`tests/golden/*.txt`) or messages (`tests/refused/*.txt`).
//!
//! Each file starts with its purpose. Parts follow that begin with a line `-- NAME --` and have one
//! entry per line, except `uci`. Only `uci`, `devices` and the last part are mandatory:
//! * `devices`: `NAME in|out WHY` for each device of the machine;
//! * `segments`, for policies: `zone NAME DEVICE…` or `vlan NUMBER DEVICE…`;
//! * `inspection`: settings of Suricata other than the defaults (`fail closed`,
//!   `default always`, `exempt NETWORK`, `bytes N`, `packets N`, `queues FIRST COUNT hash|fanout`,
//!   `gate open`);
//! * `shaped`: layer 3 devices with queues;
//! * `tunnels`: tunnel devices;
//! * `encapsulated`: devices with headers that a flowtable cannot read, as `DEVICE BELOW…`;
//! * `foreign`: rules of other programs, as cases of `tests/foreign/cases.json`;
//! * `own`: the router's addresses as `DEVICE MAC…`;
//! * `roaming`: addresses of roaming hosts;
//! * `ipsec`, without entries: the kernel supports IPsec;
//! * `paused`: MAC and IP addresses of paused hosts, perhaps none;
//! * `hosts`: `MAC DOWN UP always|never|- ADDRESS…` for each host with rules, limits in kbit/s;
//! * `blocks`: `limit N` and `SOURCE SECONDS LEFT COMMENT`;
//! * `rules`: the whole script, or the reason why there is none;
//! * `differences from FILE`, instead of `rules`: a diff against another file's script.
//!
//! `./build.sh bench` loads 01-defaults and 29-ebpf, so both have a part `rules`. `GOLDEN_UPDATE=1`
//! updates the last parts. A test also checks each script with nft; if the kernel lacks flowtables
//! or queues, the script omits them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use config::{Problem, parse_uci};
use model::{Action, Gate, PacketChain, Spread};
use ruleset::{
    BlockElement, Candidate, ForeignRules, HostRules, InspectionRules, Nft, NftCommand, Paused,
    Policy, Protection, Queues, Segments, Settings, Surroundings, plan, render,
};

#[path = "../../../ips/tests/suricata/differences.rs"]
mod differences;
use differences::differences;

const DIFFERENCES: &str = "-- differences from ";

/// A parsed file; the part without a name is its purpose.
struct Golden {
    path: PathBuf,
    parts: BTreeMap<String, String>,
    head: String,
    result: String,
}

fn golden(path: PathBuf) -> Golden {
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("-- rules --\n").or_else(|| text.find(DIFFERENCES)).expect("a result");
    let (head, result) = text.split_at(at);
    let mut parts = BTreeMap::new();
    let mut name = String::new();
    for line in head.lines() {
        match line.strip_prefix("-- ").and_then(|line| line.strip_suffix(" --")) {
            Some(next) => {
                next.clone_into(&mut name);
                parts.entry(name.clone()).or_insert_with(String::new);
            }
            None => parts.entry(name.clone()).or_default().extend([line, "\n"]),
        }
    }
    assert!(!parts[""].trim().is_empty(), "{}: no purpose", path.display());
    Golden { head: head.to_owned(), result: result.to_owned(), path, parts }
}

fn all(folder: &str, least: usize) -> Vec<Golden> {
    let here = Path::new("tests").join(folder);
    let folder = if here.exists() { here } else { folder.into() };
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= least, "only {} files", paths.len());
    paths.into_iter().map(golden).collect()
}

/// Returns the words of each line of a part; `None` if the file lacks the part.
fn lines<'a>(golden: &'a Golden, part: &str) -> Option<Vec<Vec<&'a str>>> {
    let lines = golden.parts.get(part)?.lines().filter(|line| !line.is_empty());
    Some(lines.map(|line| line.split(' ').collect()).collect())
}

fn devices(golden: &Golden) -> Vec<Candidate> {
    let lines = lines(golden, "devices").expect("-- devices --");
    let candidate = |words: Vec<&str>| Candidate {
        device: words[0].to_owned(),
        eligible: words[1] == "in",
        why: config::Cause { text: words[2..].join(" "), ..config::Cause::default() },
    };
    lines.into_iter().map(candidate).collect()
}

fn segments(golden: &Golden) -> Segments {
    let mut segments = Segments::default();
    for words in lines(golden, "segments").unwrap_or_default() {
        let devices: BTreeSet<String> = words[2..].iter().map(|&name| name.to_owned()).collect();
        match words[0] {
            "zone" => drop(segments.zones.insert(words[1].to_owned(), devices)),
            "vlan" => drop(segments.vlans.insert(words[1].parse().unwrap(), devices)),
            other => panic!("{other} is not a segment"),
        }
    }
    segments
}

fn active(settings: &Settings) -> impl Iterator<Item = &Policy> {
    settings.policies.iter().filter(|policy| policy.enabled)
}

fn inspection(
    golden: &Golden,
    settings: &Settings,
) -> Result<Option<InspectionRules>, Vec<Problem>> {
    let Some(lines) = lines(golden, "inspection") else { return Ok(None) };
    let segments = segments(golden);
    let unknown: Vec<Problem> =
        active(settings).flat_map(|policy| policy.check(&segments)).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let mut inspection = InspectionRules {
        marks: settings.marks().map_err(|problem| vec![problem])?,
        fail_open: true,
        default: Action::Inspect,
        policies: active(settings).map(|policy| policy.on(&segments)).collect(),
        exempt: Vec::new(),
        budget_bytes: 1 << 20,
        budget_packets: 0,
        queues: Queues { first: 0, count: 2, spread: Spread::Hash },
        gate: Gate::Queue,
    };
    for words in lines {
        match words[..] {
            ["fail", how] => inspection.fail_open = how == "open",
            ["default", action] => inspection.default = action.parse().unwrap(),
            ["exempt", network] => inspection.exempt.push(network.parse().unwrap()),
            ["bytes", budget] => inspection.budget_bytes = budget.parse().unwrap(),
            ["packets", budget] => inspection.budget_packets = budget.parse().unwrap(),
            ["queues", first, count, spread] => {
                let [first, count] = [first, count].map(|number| number.parse().unwrap());
                let spread = if spread == "fanout" { Spread::Fanout } else { Spread::Hash };
                inspection.queues = Queues { first, count, spread };
            }
            ["gate", "open"] => inspection.gate = Gate::Open,
            ["gate", "closed"] => inspection.gate = Gate::Closed,
            _ => panic!("inspection: {}", words.join(" ")),
        }
    }
    Ok(Some(inspection))
}

fn blocks(golden: &Golden) -> (Option<u32>, Vec<BlockElement>) {
    let (mut limit, mut blocks) = (None, Vec::new());
    for words in lines(golden, "blocks").unwrap_or_default() {
        match words[..] {
            ["limit", number] => limit = Some(number.parse().unwrap()),
            [source, seconds, left, ref comment @ ..] => blocks.push(BlockElement {
                source: source.parse().unwrap(),
                seconds: seconds.parse().unwrap(),
                left: left.parse().unwrap(),
                comment: comment.join(" "),
            }),
            _ => panic!("blocks: {}", words.join(" ")),
        }
    }
    (limit, blocks)
}

fn host(words: &[&str]) -> HostRules {
    let number = |word: &str| word.parse().unwrap();
    HostRules {
        mac: words[0].to_owned(),
        limits: [number(words[1]), number(words[2])],
        inspect: match words[3] {
            "always" => Some(Action::Always),
            "never" => Some(Action::None),
            _ => None,
        },
        addresses: words[4..].iter().map(|word| word.parse().unwrap()).collect(),
    }
}

fn rules(golden: &Golden) -> String {
    let name = golden.path.display();
    let values = parse_uci(&golden.parts["uci"]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (settings, warnings) =
        Settings::from_uci(&values).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    let inspection = match inspection(golden, &settings) {
        Ok(inspection) => inspection,
        Err(problems) => {
            let line = |problem: &Problem| format!("refused: {problem}\n");
            return problems.iter().map(line).collect();
        }
    };
    let (limit, blocks) = blocks(golden);
    let protection = Protection { inspection, blocks: limit };
    let mut plan = plan(&devices(golden), &settings, &protection);
    let shaped = lines(golden, "shaped").unwrap_or_default();
    plan.shape(shaped.into_iter().map(|words| words[0].to_owned()));
    let tunnels = lines(golden, "tunnels").unwrap_or_default();
    plan.tunnel(tunnels.into_iter().map(|words| words[0].to_owned()));
    let encapsulated = lines(golden, "encapsulated").unwrap_or_default();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    plan.encapsulate(encapsulated.iter().map(|line| (line[0].to_owned(), words(&line[1..]))));
    let cases = lines(golden, "foreign").unwrap_or_default();
    plan.packet_chains = cases.into_iter().flat_map(|words| foreign(&words.join(" "))).collect();
    let own = lines(golden, "own").unwrap_or_default();
    plan.address(own.iter().map(|line| (line[0].to_owned(), words(&line[1..]))));
    let roaming = lines(golden, "roaming").unwrap_or_default();
    plan.roaming = roaming.iter().map(|words| words[0].parse().unwrap()).collect();
    plan.paused = lines(golden, "paused").map(|words| {
        let mut paused = Paused::default();
        for word in words.concat() {
            match word.parse() {
                Ok(address) => drop(paused.addresses.insert(address)),
                Err(_) => drop(paused.macs.insert(word.to_owned())),
            }
        }
        paused
    });
    let hosts = lines(golden, "hosts").unwrap_or_default();
    plan.hosts = hosts.iter().map(|words| host(words)).collect();
    plan.ipsec = golden.parts.contains_key("ipsec");
    render(&plan, &blocks)
}

fn cases() -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(include_str!("../foreign/cases.json")).unwrap()
}

fn foreign(case: &str) -> Vec<PacketChain> {
    let devices = ["br-lan.10", "br-lan.20"].map(str::to_owned);
    ForeignRules::parse(&cases()[case]).packet_chains(&Surroundings {
        above: &|_| BTreeSet::from(devices.clone()),
        bridged: BTreeSet::from(devices.clone()),
        flowtable: &BTreeSet::new(),
        queues: true,
        first_packets: false,
    })
}

fn rendered(golden: &Golden) -> String {
    let rules = rules(golden);
    let Some(named) = golden.result.strip_prefix(DIFFERENCES) else {
        return format!("-- rules --\n{rules}");
    };
    let (name, _) = named.split_once(" --\n").unwrap();
    let whole = self::rules(&self::golden(golden.path.with_file_name(name)));
    let heading = |line: &str| line.ends_with('{') && !line.starts_with("\t\t");
    format!("{DIFFERENCES}{name} --\n{}", differences(&whole, &rules, heading))
}

#[test]
fn renders_each_golden_configuration() {
    let update = std::env::var_os("GOLDEN_UPDATE").is_some();
    for golden in all("golden", 28).into_iter().chain(all("refused", 2)) {
        let result = rendered(&golden);
        if update {
            fs::write(&golden.path, golden.head + &result).unwrap();
        } else {
            assert_eq!(result, golden.result, "{}", golden.path.display());
        }
    }
}

const FLOWTABLE: &str = "table inet fastpath_probe {\n\tflowtable ft {\n\
    \t\thook ingress priority filter + 10\n\t\tdevices = { \"lo\" }\n\t\tcounter\n\t}\n}\n";
const QUEUE: &str = "table inet fastpath_probe {\n\tchain c {\n\t\tqueue to 0\n\t}\n}\n";
const NOTHING: &str = "table inet fastpath_probe {\n\tchain c {\n\t}\n}\n";

/// Adapts the script to this kernel: omits hardware offload and unsupported statements, and
/// replaces all devices by `lo`.
fn supported(script: &str, flowtables: bool, queues: bool) -> String {
    let mut in_flowtable = false;
    let mut text = String::new();
    for line in script.lines() {
        let words = line.trim();
        in_flowtable |= words.starts_with("flowtable ");
        let skip = (in_flowtable || words.contains("flow add @ft")) && !flowtables;
        if in_flowtable && words == "}" {
            in_flowtable = false;
        }
        if skip || words == "flags offload" {
            continue;
        }
        if words.starts_with("devices = ") {
            text.push_str("\t\tdevices = { \"lo\" }\n");
        } else if let Some((before, rest)) = line.split_once("devices = {") {
            let behind = rest.split_once('}').unwrap().1;
            text.extend([before, "devices = { \"lo\" }", behind, "\n"]);
        } else if let (Some((before, _)), false) = (line.split_once(" queue "), queues) {
            text.extend([before, " drop\n"]);
        } else {
            text.extend([line, "\n"]);
        }
    }
    text
}

#[tokio::test]
async fn nft_accepts_every_golden_script() {
    let nft = NftCommand::default();
    if let Err(why) = nft.check(NOTHING).await {
        eprintln!("skipped: nft and the right to use it are needed: {why}");
        return;
    }
    let (flowtables, queues) = (nft.check(FLOWTABLE).await.is_ok(), nft.check(QUEUE).await.is_ok());
    if !flowtables || !queues {
        eprintln!("only in part: flowtables {flowtables}, queues {queues}");
    }
    for golden in all("golden", 27) {
        let script = supported(&rules(&golden), flowtables, queues);
        let checked = nft.check(&script).await;
        assert_eq!(checked, Ok(()), "{}\n{script}", golden.path.display());
    }
}

#[tokio::test]
async fn nft_accepts_the_rules_for_every_foreign_case() {
    let nft = NftCommand::default();
    if let Err(why) = nft.check(NOTHING).await {
        eprintln!("skipped: nft and the right to use it are needed: {why}");
        return;
    }
    let flowtables = nft.check(FLOWTABLE).await.is_ok();
    let device = Candidate { device: "lo".into(), eligible: true, why: config::Cause::default() };
    let mut plan = plan(&[device], &Settings::default(), &Protection::default());
    for case in cases().keys() {
        plan.packet_chains = foreign(case);
        let script = supported(&render(&plan, &[]), flowtables, true);
        assert_eq!(nft.check(&script).await, Ok(()), "{case}\n{script}");
    }
}
