// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of CPUs: load, the CPU plan, isolated CPUs and frequency governors.

use serde_json::json;

use super::Check;
use crate::facts::cpu::{CPUFREQ, ISOLATED, STAT, cpus};
use crate::facts::{Facts, list, word};
use crate::finding::{Finding, Fix, Severity, Step, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "cpu-saturated", group: "cpu", run: saturated },
    Check { id: "cpu-plan-off", group: "cpu", run: plan_off },
    Check { id: "cpu-masks", group: "cpu", run: masks },
    Check { id: "cpu-steering", group: "cpu", run: steering },
    Check { id: "cpu-isolated", group: "cpu", run: isolated },
    Check { id: "cpu-governor", group: "cpu", run: governor },
];

/// Minimum share of softirq time of a saturated CPU, in percent.
const SATURATED_PERCENT: u64 = 85;
/// Minimum share of idle time of a CPU that could relieve a saturated one, in percent.
const IDLE_PERCENT: u64 = 50;
const PLAN: &str = "ubus call fastpath cpu";

/// Reports a CPU saturated with packets while another one is idle.
fn saturated(facts: &Facts) -> Verdict {
    let loads = facts.cpu.loads.get()?;
    let Some(full) =
        loads.iter().filter(|load| load.softirq >= SATURATED_PERCENT).max_by_key(|l| l.softirq)
    else {
        return Ok(None);
    };
    let idle = loads.iter().filter(|load| load.idle >= IDLE_PERCENT);
    let Some(idlest) = idle.max_by_key(|load| load.idle) else { return Ok(None) };
    let finding = Finding::new(Severity::Warning)
        .saw("softirq", full.cpu, format!("{} %", full.softirq), STAT)
        .saw("idle", idlest.cpu, format!("{} %", idlest.idle), STAT)
        .with("cpu", full.cpu)
        .with("idle", idlest.cpu)
        .gain("docs/doctor.md, rows 6 and 7");
    let off = facts.cpu.plan.at("enabled").is_ok_and(|enabled| enabled == false);
    Ok(Some(finding.fix(off.then(enable))))
}

/// Reports several CPUs without a plan for forwarding and inspection.
fn plan_off(facts: &Facts) -> Verdict {
    let planned = list(facts.cpu.plan.get()?, "cpus").len();
    if planned < 2 || facts.cpu.plan.at("enabled")? != false {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Advice)
        .saw("enabled", "", "0", "/etc/config/fastpath, cpu.enabled")
        .saw("count", "", planned, PLAN)
        .with("count", planned)
        .gain("docs/BENCHMARKS.md, CPU plan");
    Ok(Some(finding.fix(Some(enable()))))
}

/// Reports interrupts, queues or threads that differ from the plan.
fn masks(facts: &Facts) -> Verdict {
    let differences = list(facts.cpu.plan.get()?, "differences");
    let mut finding = Finding::new(Severity::Warning).with("count", differences.len());
    for difference in differences.iter().take(8) {
        let value = format!("{} → {}", word(difference, "have"), word(difference, "wanted"));
        let (text, place) = (word(difference, "text"), word(difference, "where"));
        finding = finding.saw("difference", text, value, place);
    }
    Ok(finding.if_seen())
}

/// Reports packet steering of another program, which overwrites the masks of the plan.
fn steering(facts: &Facts) -> Verdict {
    let active = facts.cpu.plan.at("active")? == true;
    let steering = facts.cpu.plan.at("steering")?;
    let uci = word(steering, "uci");
    if !active || steering["taken_over"] == true || matches!(uci, "" | "0") {
        return Ok(None);
    }
    let script = "/usr/libexec/platform/packet-steering.sh";
    let finding = Finding::new(Severity::Warning)
        .saw("steering", "", uci, "/etc/config/network, packet_steering")
        .saw("hook", "", word(steering, "hook"), script)
        .with("script", script);
    Ok(Some(finding.fix(Some(Fix::set("network", "globals", &json!({"packet_steering": "0"}))))))
}

/// Reports CPUs that `isolcpus` reserves but the plan does not use.
fn isolated(facts: &Facts) -> Verdict {
    if facts.cpu.isolated.is_empty() {
        return Ok(None);
    }
    let planned = list(facts.cpu.plan.get()?, "cpus");
    let used = |cpu| planned.iter().any(|of| of["cpu"] == cpu && of["role"] != "unused");
    let isolated = cpus(&facts.cpu.isolated).into_iter();
    let unused: Vec<String> =
        isolated.filter(|cpu| !used(*cpu)).map(|cpu| cpu.to_string()).collect();
    if unused.is_empty() {
        return Ok(None);
    }
    let unused = unused.join(",");
    let finding = Finding::new(Severity::Advice)
        .saw("isolated", "", &facts.cpu.isolated, ISOLATED)
        .saw("unused", "", &unused, PLAN)
        .with("unused", unused);
    Ok(Some(finding))
}

/// Reports the governor `powersave`, which keeps a CPU at its lowest frequency. With the drivers in
/// `own`, `powersave` follows the load.
fn governor(facts: &Facts) -> Verdict {
    let own = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];
    let slow = facts.cpu.clocks.iter().filter(|clock| clock.governor == "powersave");
    let mut finding = Finding::new(Severity::Warning).with("folder", CPUFREQ);
    let mut steps = Vec::new();
    for clock in slow.filter(|clock| !own.contains(&clock.driver.as_str())) {
        let path = format!("{}/scaling_governor", clock.path);
        finding = finding.saw("governor", &clock.cpus, &clock.governor, &path);
        let available: Vec<&str> = clock.available.split_ascii_whitespace().collect();
        let better = ["schedutil", "ondemand", "performance"];
        if let Some(text) = better.into_iter().find(|name| available.contains(name)) {
            steps.push(Step::Write { path, text: text.into() });
        }
    }
    let fix = if steps.is_empty() { None } else { Some(Fix::Steps(steps)) };
    Ok(finding.fix(fix).if_seen())
}

pub(super) fn enable() -> Fix {
    Fix::set("fastpath", "cpu", &json!({"enabled": "1"}))
}

#[cfg(test)]
mod tests;
