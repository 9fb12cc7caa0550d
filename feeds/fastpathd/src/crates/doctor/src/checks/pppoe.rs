// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of PPPoE: MTU, MSS clamping, fast path, reconnects, idle timeouts and traffic counters.

use serde_json::json;

use super::tunnels::{self, Syn};
use super::{Check, flowtable};
use crate::facts::others::BY_DEVICE;
use crate::facts::{Facts, list, word};
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
        let args = ["link", "set", "dev", &session.device, "mtu", &room.to_string()];
        let lower = (&*session.lower, session.lower_mtu);
        let finding = tunnels::too_large(Severity::Error, (&session.device, session.mtu), lower);
        return Ok(Some(finding.with("room", room).fix(Some(Fix::run("ip", &args)))));
    }
    Ok(None)
}

fn mss(facts: &Facts) -> Verdict {
    for session in facts.pppoe.sessions.get()? {
        let small = session.mtu > 0 && session.mtu < ETHERNET;
        let syn = Syn { device: &session.device, from: None, ipv6: false };
        if small && !tunnels::clamps_mss(facts, &syn, session.mtu)? {
            return tunnels::unclamped(facts, &session.device, session.mtu).map(Some);
        }
    }
    Ok(None)
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
