// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of PPPoE: MTU, MSS clamping, fast path, reconnects, idle timeouts and traffic counters.

use serde_json::{Value, json};

use super::{Check, flowtable};
use crate::facts::others::BY_DEVICE;
use crate::facts::pppoe::Session;
use crate::facts::reach::{names, names_only, reached};
use crate::facts::rules::SOURCE;
use crate::facts::walk::statements;
use crate::facts::{Facts, Unknown, list, word};
use crate::finding::{Finding, Fix, Severity, Verdict};
use uci::Section;

const GROUP: &str = "pppoe";
pub(super) const CHECKS: &[Check] = &[
    Check { id: "pppoe-mtu", group: GROUP, run: mtu },
    Check { id: "pppoe-mss", group: GROUP, run: mss },
    Check { id: "pppoe-slow", group: GROUP, run: slow },
    Check { id: "pppoe-redials", group: GROUP, run: redials },
    Check { id: "pppoe-idle", group: GROUP, run: idle },
    Check { id: "pppoe-uncounted", group: GROUP, run: uncounted },
];

/// Overhead of PPPoE (6) and PPP (2) per frame, in bytes.
const OVERHEAD: u64 = 8;
/// Headers of IPv4 and TCP, in bytes.
const HEADERS: u64 = 40;
/// Path MTU that hosts assume by default.
const ETHERNET: u64 = 1500;
/// Maximum session ends per day without a finding. Many ISPs end a session once a day.
const MAX_RECONNECTS: u64 = 2;

/// Reports a session whose MTU exceeds the frames of the lower device.
fn mtu(facts: &Facts) -> Verdict {
    for session in facts.pppoe.sessions.get()? {
        let room = session.lower_mtu.saturating_sub(OVERHEAD);
        if session.mtu <= room || session.lower_mtu == 0 {
            continue;
        }
        let path = |device: &str| format!("/sys/class/net/{device}/mtu");
        let args = ["link", "set", "dev", &session.device, "mtu", &room.to_string()];
        let finding = Finding::new(Severity::Error)
            .with("device", session.device.as_str())
            .with("mtu", session.mtu)
            .with("room", room)
            .saw("mtu", &session.device, session.mtu, path(&session.device))
            .saw("mtu", &session.lower, session.lower_mtu, path(&session.lower))
            .fix(Some(Fix::run("ip", &args)));
        return Ok(Some(finding));
    }
    Ok(None)
}

fn mss(facts: &Facts) -> Verdict {
    let sessions = facts.pppoe.sessions.get()?;
    let mut small = sessions.iter().filter(|of| of.mtu > 0 && of.mtu < ETHERNET);
    let unclamped = small.find_map(|session| match clamps_mss(facts, session) {
        Ok(true) => None,
        Ok(false) => Some(Ok(session)),
        Err(unknown) => Some(Err(unknown)),
    });
    let Some(small) = unclamped.transpose()? else { return Ok(None) };
    let firewall = facts.uci.firewall.get()?;
    let interface = small.device.strip_prefix("pppoe-").unwrap_or(&small.device);
    let zone = firewall.of("zone").find(|zone| zone.words("network").contains(&interface));
    let finding = Finding::new(Severity::Warning)
        .with("device", small.device.as_str())
        .with("mtu", small.mtu)
        .saw("mtu", &small.device, small.mtu, format!("/sys/class/net/{}/mtu", small.device))
        .saw("clamp", "", "–", SOURCE);
    let fix = zone.map(|zone| Fix::set("firewall", &zone.name, &json!({"mtu_fix": "1"})));
    Ok(Some(finding.fix(fix)))
}

/// Returns whether a rule clamps the MSS in SYN packets that hosts send through the session. The
/// MSS of a host limits the packets of its servers.
fn clamps_mss(facts: &Facts, session: &Session) -> Result<bool, Unknown> {
    let starts = |chain: &Value| {
        matches!(word(chain, "family"), "inet" | "ip")
            && matches!(word(chain, "hook"), "forward" | "postrouting")
    };
    let met = reached(&facts.rules, starts, |value| meets_syn(value, &session.device))?;
    let fits = |value: &Value| value.as_u64().is_none_or(|mss| mss + HEADERS <= session.mtu);
    let clamps = |(of, value): (&str, &Value)| match of {
        "mangle" => value["key"]["tcp option"]["name"] == "maxseg" && fits(&value["value"]),
        "xt" => value["name"] == "TCPMSS",
        _ => false,
    };
    Ok(met.into_iter().any(|rule| statements(rule).any(clamps)))
}

/// Returns whether a match may include the SYN of an IPv4 connection that leaves by `device`.
fn meets_syn(value: &Value, device: &str) -> bool {
    let (left, right, not) = (&value["left"], &value["right"], value["op"] == "!=");
    if word(value, "right").starts_with('@') {
        return true;
    }
    match (left["meta"]["key"].as_str(), left["ct"]["key"].as_str()) {
        (Some("oifname" | "oif"), _) => names(right, device) != not,
        (Some("iifname" | "iif"), _) => not || !names_only(right, device),
        (Some("nfproto"), _) => names(right, "ipv4") != not,
        (_, Some("state")) => names(right, "new") != not,
        _ => left["payload"]["protocol"] != "ip6",
    }
}

/// Reports a session over a port that is not in the fast path.
fn slow(facts: &Facts) -> Verdict {
    let status = facts.flowtable.status.get()?;
    let engine = &status["engine"];
    if engine["active"] == "off" {
        return Ok(None);
    }
    let left_out = list(status, "wan").iter().find(|wan| {
        let port = word(wan, "port");
        let known = port.is_empty() || list(engine, "devices").iter().any(|device| device == port);
        wan["proto"] == "pppoe" && wan["up"] == true && !known
    });
    Ok(left_out.map(|wan| {
        let (device, port) = (word(wan, "device"), word(wan, "port"));
        Finding::new(Severity::Warning)
            .with("device", device)
            .with("port", port)
            .saw("session", device, port, "ubus call fastpath status: wan")
            .saw("devices", "", &engine["devices"], "ubus call fastpath status: engine.devices")
            .gain("docs/doctor.md, PPPoE")
    }))
}

/// Reports an idle timeout of pppd. Offloaded packets bypass the ppp device, so pppd would end an
/// active session.
fn idle(facts: &Facts) -> Verdict {
    if flowtable::engine(facts, "active")? == "off" {
        return Ok(None);
    }
    let main = facts.uci.fastpath.get()?.of("fastpath").next();
    if main.is_some_and(|main| !main.is_on("pppoe", true)) {
        return Ok(None);
    }
    let interfaces = facts.uci.network.get()?.of("interface");
    let mut sessions = interfaces.filter(|of| of.text("proto") == Some("pppoe"));
    let Some((section, seconds)) = sessions.find_map(|of| Some((of, idle_limit(of)?))) else {
        return Ok(None);
    };
    let finding = Finding::new(Severity::Error)
        .with("interface", section.name.as_str())
        .with("seconds", seconds)
        .saw("idle", &section.name, format!("{seconds} s"), "/etc/config/network");
    let fix = main.map(|main| Fix::set("fastpath", &main.name, &json!({"pppoe": "0"})));
    Ok(Some(finding.fix(fix)))
}

/// Returns pppd's idle timeout in seconds, from netifd's `demand` or an option of pppd.
fn idle_limit(section: &Section) -> Option<u64> {
    let limit = |text: &str| text.parse().ok().filter(|seconds| *seconds > 0);
    let options = section.words("pppd_options").into_iter();
    let words: Vec<&str> = options.flat_map(str::split_whitespace).collect();
    let own = words.windows(2).find(|pair| pair[0] == "idle").and_then(|pair| limit(pair[1]));
    section.text("demand").and_then(limit).or(own)
}

/// Reports programs that count traffic on the ppp device. Offloaded packets bypass it.
fn uncounted(facts: &Facts) -> Verdict {
    if flowtable::engine(facts, "active")? == "off" {
        return Ok(None);
    }
    let programs = BY_DEVICE.iter().filter(|name| facts.others.counting.contains(*name));
    let programs: Vec<&str> = programs.copied().collect();
    let session = facts.pppoe.sessions.get()?.first();
    let Some(session) = session.filter(|_| !programs.is_empty()) else { return Ok(None) };
    let mut finding = Finding::new(Severity::Advice)
        .with("device", session.device.as_str())
        .with("lower", session.lower.as_str())
        .with("programs", programs.join(", "));
    for program in programs {
        finding = finding.saw("reader", program, &session.device, "/proc");
    }
    Ok(Some(finding))
}

fn redials(facts: &Facts) -> Verdict {
    if facts.pppoe.sessions.get()?.is_empty() {
        return Ok(None);
    }
    let ended = *facts.pppoe.ended.get()?;
    let finding = Finding::new(Severity::Warning).with("count", ended);
    let finding = finding.saw("ended", "", ended, "ubus call log read");
    Ok((ended > MAX_RECONNECTS).then_some(finding))
}

#[cfg(test)]
mod tests;
