// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::*;
use crate::facts::kernel::Kernel;
use crate::texts::tests::found_by;

fn facts() -> Facts {
    let kernel = Kernel {
        release: "6.12.107+deb13-amd64".to_owned().into(),
        signed: Some(true),
        lockdown: "integrity".into(),
        pointers: 1.into(),
        tainted: 0.into(),
        vermagic: "6.12.107 SMP mod_unload modversions".to_owned().into(),
    };
    Facts { kernel, ..Facts::default() }
}

fn status(proto: &str, engine: &str) -> crate::facts::Known<Value> {
    json!({"wan": [{"proto": proto}], "engine": {"active": engine}}).into()
}

fn found(id: &str, facts: &Facts) -> Finding {
    found_by(CHECKS, id, facts)
}

#[test]
fn a_hardened_kernel_has_no_finding() {
    for check in CHECKS {
        assert_eq!((check.run)(&facts()), Ok(None), "{}", check.id);
        assert!((check.run)(&Facts::default()).is_err() || check.id == "kernel-lockdown");
    }
}

#[test]
fn a_defect_is_a_warning_only_on_an_affected_router() {
    let mut facts = facts();
    facts.kernel.release = "6.6.28".to_owned().into();
    facts.flowtable.status = status("pppoe", "flowtable");
    let finding = found("kernel-defects", &facts);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.evidence.iter().any(|seen| seen.of == "CVE-2024-27016"));
    facts.flowtable.status = status("dhcp", "flowtable");
    assert_eq!(found("kernel-defects", &facts).severity, Severity::Info);
    facts.kernel.release = "5.4.100".to_owned().into();
    assert_eq!(found("kernel-defects", &facts).severity, Severity::Error);
    facts.kernel.release = "custom".to_owned().into();
    assert!(known_defects(&facts).is_err());
}

#[test]
fn the_fix_hides_kernel_pointers() {
    let mut facts = facts();
    facts.kernel.pointers = 0.into();
    let finding = found("kernel-pointers", &facts);
    assert!(matches!(finding.fix, Some(Fix::Steps(_))));
}

#[test]
fn reports_unsigned_modules() {
    let mut facts = facts();
    for (signed, tainted, case) in
        [(Some(false), 0, ""), (None, 0, "unsigned"), (Some(true), UNSIGNED, "stranger")]
    {
        facts.kernel.signed = signed;
        facts.kernel.tainted = tainted.into();
        assert_eq!(found("kernel-modules", &facts).case, case);
    }
}

#[test]
fn reports_missing_kernel_features() {
    let mut facts = facts();
    facts.kernel.vermagic = "6.12.90 SMP mod_unload".to_owned().into();
    facts.kernel.lockdown = String::new();
    assert_eq!(found("kernel-modversions", &facts).severity, Severity::Info);
    assert_eq!(found("kernel-lockdown", &facts).severity, Severity::Info);
}
