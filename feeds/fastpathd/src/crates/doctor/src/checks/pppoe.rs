// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of PPPoE: MTU larger than the frames below, missing MSS clamping, a port outside the fast
//! path, reconnects within a day (limit).

use serde_json::json;

use super::Check;
use super::rules::clamps_mss;
use crate::facts::rules::SOURCE;
use crate::facts::{Facts, list, word};
use crate::finding::{Finding, Fix, Severity, Verdict};

const GROUP: &str = "pppoe";
/// This group's part of the table.
pub(super) const CHECKS: &[Check] = &[
    Check { id: "pppoe-mtu", group: GROUP, run: mtu },
    Check { id: "pppoe-mss", group: GROUP, run: mss },
    Check { id: "pppoe-slow", group: GROUP, run: slow },
    Check { id: "pppoe-redials", group: GROUP, run: redials },
];

/// Bytes that PPPoE takes of each frame: 6 of its own, 2 of PPP's.
const OVERHEAD: u64 = 8;
/// The path MTU that a host assumes by default.
const ETHERNET: u64 = 1500;
/// Sessions that may end within a day: many lines are cut once a day by the ISP.
const REDIALS: u64 = 2;

/// The session's MTU does not fit into the frames below it.
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

/// The MTU of the line is smaller than hosts assume, and no rule clamps the MSS.
fn mss(facts: &Facts) -> Verdict {
    let sessions = facts.pppoe.sessions.get()?;
    let Some(small) = sessions.iter().find(|of| of.mtu > 0 && of.mtu < ETHERNET) else {
        return Ok(None);
    };
    if clamps_mss(facts)? {
        return Ok(None);
    }
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

/// The port that the session runs over is in no fast path.
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

fn redials(facts: &Facts) -> Verdict {
    if facts.pppoe.sessions.get()?.is_empty() {
        return Ok(None);
    }
    let ended = *facts.pppoe.ended.get()?;
    let finding = Finding::new(Severity::Warning).with("count", ended);
    let finding = finding.saw("ended", "", ended, "ubus call log read");
    Ok((ended > REDIALS).then_some(finding))
}

#[cfg(test)]
#[path = "pppoe_tests.rs"]
mod tests;
