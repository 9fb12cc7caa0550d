// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of the kernel: known defects, visible addresses, module signatures, modversions,
//! lockdown.

use super::Check;
use super::defects::{self, Affected};
use crate::facts::kernel::{LOCKDOWN, POINTERS, RELEASE, SIGNED, TAINTED, version};
use crate::facts::{Facts, Unknown};
use crate::finding::{Finding, Fix, Severity, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "kernel-defects", group: "system", run: known_defects },
    Check { id: "kernel-pointers", group: "system", run: pointers },
    Check { id: "kernel-modules", group: "system", run: modules },
    Check { id: "kernel-modversions", group: "system", run: modversions },
    Check { id: "kernel-lockdown", group: "system", run: lockdown },
];

/// Taint flag of a forced module load.
const FORCED: u64 = 1 << 1;
/// Taint flag of an unsigned module in a kernel that checks signatures.
const UNSIGNED: u64 = 1 << 13;

/// Reports known defects of this version. An unaffected router gets only a note.
fn known_defects(facts: &Facts) -> Verdict {
    let release = facts.kernel.release.get()?;
    let number = version(release)
        .ok_or_else(|| Unknown(format!("{RELEASE} has '{release}', which is not a version")))?;
    let mut worst = Severity::Ok;
    let mut finding = Finding::new(Severity::Info).saw("release", "", release, RELEASE);
    for defect in defects::of(number) {
        let affected = is_affected(facts, defect.applies);
        worst = worst.max(if affected { defect.severity } else { Severity::Info });
        let (of, source) = (defect.name, defect.commit);
        finding = finding.saw("defect", of, defect.text, source);
    }
    if worst == Severity::Ok {
        return Ok(None);
    }
    let count = finding.evidence.len() - 1;
    finding.severity = worst;
    Ok(Some(finding.with("release", release.as_str()).with("count", count)))
}

/// Returns whether a defect affects this router. True if unknown.
fn is_affected(facts: &Facts, place: Affected) -> bool {
    let status = facts.flowtable.status.get();
    let Ok(status) = status else { return true };
    match place {
        Affected::Flowtable => true,
        Affected::Pppoe => {
            let wans = status.get("wan").and_then(|wan| wan.as_array());
            wans.is_none_or(|wans| wans.iter().any(|wan| wan["proto"] == "pppoe"))
        }
        Affected::Hardware => {
            status.get("engine").is_none_or(|engine| engine["active"] == "flowtable-hw")
        }
        Affected::Queue => facts.ips.enabled().unwrap_or(true),
    }
}

/// Reports that kernel messages reveal memory addresses.
fn pointers(facts: &Facts) -> Verdict {
    let pointers = *facts.kernel.pointers.get()?;
    if pointers > 0 {
        return Ok(None);
    }
    let finding = Finding::new(Severity::Advice)
        .saw("pointers", "", pointers, POINTERS)
        .fix(Some(Fix::write(POINTERS, 1)));
    Ok(Some(finding))
}

/// Reports that the kernel accepts unsigned modules.
fn modules(facts: &Facts) -> Verdict {
    let tainted = *facts.kernel.tainted.get()?;
    let shown = |signed: Option<bool>| signed.map_or("-", |signed| if signed { "Y" } else { "N" });
    let stranger = tainted & (FORCED | UNSIGNED) != 0;
    if facts.kernel.signed == Some(true) && !stranger {
        return Ok(None);
    }
    let case = match (stranger, facts.kernel.signed) {
        (true, _) => "stranger",
        (_, Some(_)) => "",
        (_, None) => "unsigned",
    };
    let finding = Finding::new(Severity::Info)
        .case(case)
        .saw("signed", "", shown(facts.kernel.signed), SIGNED)
        .saw("tainted", "", tainted, TAINTED);
    Ok(Some(finding))
}

/// Reports that the kernel does not reject modules of another build.
fn modversions(facts: &Facts) -> Verdict {
    let vermagic = facts.kernel.vermagic.get()?;
    if vermagic.split(' ').any(|word| word == "modversions") {
        return Ok(None);
    }
    let source = "modinfo nf_tables: vermagic";
    Ok(Some(Finding::new(Severity::Info).saw("vermagic", "", vermagic, source)))
}

/// Reports that root can read and change kernel memory.
fn lockdown(facts: &Facts) -> Verdict {
    let mode = facts.kernel.lockdown.as_str();
    if matches!(mode, "integrity" | "confidentiality") {
        return Ok(None);
    }
    let mode = if mode.is_empty() { "-" } else { mode };
    Ok(Some(Finding::new(Severity::Info).saw("lockdown", "", mode, LOCKDOWN)))
}

#[cfg(test)]
mod tests;
