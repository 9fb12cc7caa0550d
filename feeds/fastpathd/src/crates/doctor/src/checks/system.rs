// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of the system: daemon, files, passwords, open services, clock, memory and storage.

use std::collections::BTreeSet;

use config::exposure::{Exposure, Opening, Router, admits, exposures, outer_zones};
use config::fw4::Transport;
use serde_json::{Value, json};

use super::Check;
use crate::facts::reach::{drops, reached};
use crate::facts::sockets::Listener;
use crate::facts::system::{Guess, MEMINFO, MOUNTS, PRESSURE, SHADOW, VMSTAT};
use crate::facts::{Facts, Unknown, word};
use crate::finding::{Finding, Fix, Severity, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "system-daemon", group: "system", run: daemon },
    Check { id: "system-parts", group: "system", run: parts },
    Check { id: "system-config", group: "system", run: config_files },
    Check { id: "system-password", group: "system", run: password },
    Check { id: "system-no-filter", group: "system", run: no_filter },
    Check { id: "system-wan-open", group: "system", run: wan_open },
    Check { id: "system-clock", group: "system", run: clock },
    Check { id: "system-memory", group: "system", run: memory },
    Check { id: "system-oom", group: "system", run: killed },
    Check { id: "system-storage", group: "system", run: storage },
    Check { id: "system-root", group: "system", run: root },
    Check { id: "system-notify", group: "system", run: notify },
];

/// 1 November 2026 in Unix ms. An earlier clock is wrong, because this release is newer.
pub(super) const BUILT_MS: u64 = 1_793_491_200_000;
const FIREWALL: &str = "/etc/config/firewall";

fn daemon(facts: &Facts) -> Verdict {
    let Err(why) = facts.system.answers.get() else { return Ok(None) };
    let process = if facts.system.daemon { "fastpathd" } else { "-" };
    let finding = Finding::new(Severity::Error)
        .case(if facts.system.daemon { "silent" } else { "" })
        .saw("process", "", process, "/proc")
        .saw("answer", "", why, "ubus call fastpath status");
    Ok(Some(finding.fix(Some(Fix::run("/etc/init.d/fastpathd", &["restart"])))))
}

fn parts(facts: &Facts) -> Verdict {
    let missing = &facts.system.missing;
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    let packages = packages.join(" ");
    let mut finding = Finding::new(Severity::Error).with("packages", packages);
    for (path, package) in missing {
        finding = finding.saw("part", package, "-", path);
    }
    Ok(finding.if_seen())
}

/// Reports files of `/etc/config` that libuci cannot parse.
fn config_files(facts: &Facts) -> Verdict {
    let broken = facts.uci.broken.get()?;
    let files: Vec<&str> = broken.iter().map(|(name, _)| name.as_str()).collect();
    let mut finding = Finding::new(Severity::Error).with("files", files.join(", "));
    for (name, error) in broken {
        finding = finding
            .saw("broken", name, error, format!("/etc/config/{name}"))
            .because("refusal", &json!(config::Cause::from(*error)));
    }
    Ok(finding.if_seen())
}

/// Reports accounts with an empty or a common password.
fn password(facts: &Facts) -> Verdict {
    let mut finding = Finding::new(Severity::Warning).case("common");
    let mut names = Vec::new();
    for account in facts.system.accounts.get()? {
        let Some(guess) = account.guess else { continue };
        let name = account.name.as_str();
        names.push(name);
        if guess == Guess::Empty {
            finding.severity = Severity::Error;
            finding.case = "";
        }
        let kind = if guess == Guess::Empty { "empty" } else { "common" };
        finding = finding.saw(kind, name, "-", SHADOW);
    }
    Ok(finding.with("names", names.join(", ")).if_seen())
}

/// Reports that no rule protects the router's services. Our own table does not count.
fn no_filter(facts: &Facts) -> Verdict {
    let guards = |chain: &Value| {
        matches!(word(chain, "family"), "inet" | "ip")
            && (word(chain, "hook"), word(chain, "type")) == ("input", "filter")
            && word(chain, "table") != "fastpath"
    };
    let closed = |chain: &&Value| guards(chain) && chain["policy"] == "drop";
    if facts.rules.of("chain")?.iter().any(closed)
        || reached(&facts.rules, guards, |_| true)?.into_iter().any(drops)
    {
        return Ok(None);
    }
    let source = crate::facts::rules::SOURCE;
    let finding = Finding::new(Severity::Error)
        .saw("input", "", "-", source)
        .fix(Some(Fix::run("/etc/init.d/firewall", &["restart"])));
    Ok(Some(finding))
}

/// Reports services of the router, and zones behind it, that are reachable from the Internet.
fn wan_open(facts: &Facts) -> Verdict {
    let firewall = facts.uci.firewall.get()?;
    let listeners = facts.system.listeners.get()?;
    let values = firewall.values();
    let outer = outer_zones(&values);
    let router = Router::of(facts.uci.network.get().ok(), &facts.uci.services, &BTreeSet::new());
    let exposures = exposures(&values, &router);
    let is_wide = |exposure: &&Exposure| !matches!(exposure.opening, Opening::Services(_));
    let wide: Vec<Exposure> = exposures.iter().filter(is_wide).cloned().collect();
    let mut finding =
        health::internet(&wide).map_or_else(|| Finding::new(Severity::Warning), Finding::of);
    let (mut names, mut zones) = (Vec::new(), Vec::new());
    let mut opened = None;
    for Exposure { section, kind, zone, opening, packets: _ } in exposures {
        let option = format!("{FIREWALL}, {kind} {section}");
        match opening {
            // Rules are checked per port below.
            Opening::Router | Opening::Services(_) if kind == "rule" => {}
            Opening::Router | Opening::Services(_) if kind == "redirect" => {
                let name = firewall.section(&section).and_then(|of| of.text("name"));
                let name = name.unwrap_or(&section).to_owned();
                finding = finding.saw("redirect", zone, &name, option);
                names.push(name);
            }
            Opening::Router | Opening::Services(_) => {
                finding = finding.saw("policy", zone, "ACCEPT", option);
                for listener in listeners {
                    finding = with_listener(finding, listener, &mut names);
                }
                opened = opened.or(Some(section));
            }
            Opening::Zone(to) | Opening::Host(to) => {
                finding = finding.saw("forwarding", zone, &to, option);
                zones.push(to);
            }
        }
    }
    for rule in firewall.of("rule") {
        let lets = |of: &&Listener| admits(firewall, &outer, rule, (transport(of), of.port));
        for listener in listeners.iter().filter(lets) {
            let text = |option| rule.text(option).unwrap_or_default();
            let option = format!("{FIREWALL}, rule {}", text("name"));
            finding = finding.saw("rule", text("src"), text("dest_port"), option);
            finding = with_listener(finding, listener, &mut names);
        }
    }
    let case = match (names.is_empty(), zones.is_empty()) {
        // Nothing listens on the open ports.
        (true, true) => return Ok(None),
        (false, true) => "",
        (true, false) => "zones",
        (false, false) => "both",
    };
    for list in [&mut names, &mut zones] {
        config::sort::values(list);
        list.dedup();
    }
    let fix = opened.map(|section| Fix::set("firewall", &section, &json!({"input": "REJECT"})));
    let finding = finding.case(case).with("services", names.join(", "));
    Ok(Some(finding.with("zones", zones.join(", ")).fix(fix)))
}

/// Ports for DHCP answers of the provider, which a WAN needs.
const DHCP_CLIENT_PORTS: &[(&str, u16)] = &[("udp", 68), ("udp", 546)];

fn with_listener(finding: Finding, listener: &Listener, names: &mut Vec<String>) -> Finding {
    if DHCP_CLIENT_PORTS.contains(&(listener.proto, listener.port)) {
        return finding;
    }
    let port = format!("{}/{}", listener.proto, listener.port);
    let name = if listener.program.is_empty() { &port } else { &listener.program };
    names.push(name.clone());
    finding.saw("listener", name.clone(), &port, format!("/proc/net/{}", listener.proto))
}

fn transport(listener: &Listener) -> Transport {
    if listener.proto == "tcp" { Transport::Tcp } else { Transport::Udp }
}

/// Reports a clock that is wrong or not synchronized.
fn clock(facts: &Facts) -> Verdict {
    let now = facts.system.now_ms;
    let seconds = (now / 1000).to_string();
    if now < BUILT_MS {
        let finding = Finding::new(Severity::Error).case("wrong");
        return Ok(Some(finding.saw("now", "", seconds, "date +%s")));
    }
    if !facts.system.clock.is_empty() {
        return Ok(None);
    }
    // A disabled time client is intended, for example if a virtual machine gets its host's time.
    let settings = facts.uci.system.get();
    let wanted = settings
        .is_ok_and(|system| system.of("timeserver").any(|server| server.is_on("enabled", true)));
    let severity = if wanted { Severity::Warning } else { Severity::Info };
    let enabled = if wanted { "1" } else { "0" };
    let finding = Finding::new(severity).saw("program", "", "-", "/proc").saw(
        "servers",
        "",
        enabled,
        "/etc/config/system, timeserver",
    );
    let restart = || Fix::run("/etc/init.d/sysntpd", &["restart"]);
    Ok(Some(finding.fix(wanted.then(restart))))
}

/// Reports little available memory, and programs that wait for memory.
fn memory(facts: &Facts) -> Verdict {
    let lines = facts.system.memory.get()?;
    let field = |name: &str| {
        let line = lines.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let (Some(all), Some(left)) = (field("MemTotal"), field("MemAvailable")) else {
        return Err(Unknown(format!("{MEMINFO} lacks MemTotal or MemAvailable")));
    };
    let share = left * 100 / all.max(1);
    let waiting = facts.system.pressure.get().ok().and_then(|text| waiting(text));
    let presses = waiting.is_some_and(|waiting| waiting >= 10.0);
    if share >= 5 && !presses {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Warning)
        .saw("available", "", format!("{left} KiB ({share} %)"), MEMINFO)
        .with("share", share);
    Ok(Some(match waiting {
        Some(waiting) => finding.saw("pressure", "", format!("{waiting} %"), PRESSURE),
        None => finding,
    }))
}

/// Returns the share of the last minute in which some program waited for memory, in percent.
fn waiting(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("avg60="))?.parse().ok()
}

/// Reports programs that the OOM killer ended.
fn killed(facts: &Facts) -> Verdict {
    let killed = facts.system.killed;
    if killed == 0 {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Warning)
        .saw("killed", "", killed, format!("{VMSTAT}, oom_kill"))
        .with("count", killed);
    Ok(Some(finding))
}

fn storage(facts: &Facts) -> Verdict {
    let full: Vec<_> =
        facts.system.free_space.get()?.iter().filter(|space| space.used >= 90).collect();
    if full.is_empty() {
        return Ok(None);
    }
    let over = full.iter().any(|space| space.used >= 98);
    let mut finding = Finding::new(if over { Severity::Error } else { Severity::Warning });
    for space in &full {
        let value = format!("{} %, {} KiB", space.used, space.free);
        finding = finding.saw("room", space.place, value, format!("df {}", space.place));
    }
    let places: Vec<&str> = full.iter().map(|space| space.place).collect();
    Ok(Some(finding.with("places", places.join(", "))))
}

/// Reports a writable root file system, which cannot be reset to the flashed state.
fn root(facts: &Facts) -> Verdict {
    let (kind, options) = facts.system.root.get()?;
    let writable = options.split(',').any(|option| option == "rw");
    // An overlay or a copy in memory leaves the flashed system unchanged.
    if !writable || matches!(kind.as_str(), "overlay" | "ramfs" | "tmpfs" | "rootfs") {
        return Ok(None);
    }
    Ok(Some(Finding::new(Severity::Info).saw("root", "", format!("{kind}, rw"), MOUNTS)))
}

/// Reports missing programs that the notifications in the configuration need.
fn notify(facts: &Facts) -> Verdict {
    let package = facts.uci.fastpath.get()?;
    let needs = |option: &str| {
        let mut all = package.of("notification").filter(|of| of.is_on("enabled", true));
        all.any(|of| option.is_empty() || of.text(option).is_some())
    };
    let mut finding = Finding::new(Severity::Warning);
    let mut packages = Vec::new();
    for (program, package) in &facts.system.missing_senders {
        let option = match *program {
            "curl" => "url",
            "sendmail" => "mail",
            _ => "",
        };
        if needs(option) {
            finding = finding.saw("sender", *program, "-", "/etc/config/fastpath, notification");
            packages.push(*package);
        }
    }
    Ok(finding.with("packages", packages.join(" ")).if_seen())
}

#[cfg(test)]
mod tests;
