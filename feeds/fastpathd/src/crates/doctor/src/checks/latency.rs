// SPDX-License-Identifier: GPL-2.0-or-later
//! The check of section `latency` (the page's setting "Keep latency low").

use super::Check;
use crate::facts::{Facts, word};
use crate::finding::{Finding, Severity, Verdict};

pub(super) const CHECKS: &[Check] =
    &[Check { id: "latency-missing", group: "flowtable", run: missing }];

const SOURCE: &str = "ubus call fastpath status: latency";

/// Reports that the setting is enabled but not in force. Has no fix, because the daemon retries.
fn missing(facts: &Facts) -> Verdict {
    let latency = facts.flowtable.status.at("latency")?;
    let passes = matches!(latency["cause"]["code"].as_str(), Some("waiting" | "applying"));
    if latency["enabled"] != true || latency["active"] == true || passes {
        return Ok(None);
    }
    let why = word(latency, "why");
    let finding = Finding::new(Severity::Warning)
        .saw("reason", word(&latency["cause"], "code"), why, SOURCE)
        .with("why", why);
    Ok(Some(finding))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::texts::tests::assert_texts;

    fn run(latency: &Value) -> Option<Finding> {
        let mut facts = Facts::default();
        facts.flowtable.status = json!({"latency": latency}).into();
        let finding = missing(&facts).expect("it is known");
        if let Some(finding) = &finding {
            assert_texts("latency-missing", finding);
        }
        finding
    }

    fn state(enabled: bool, active: bool, code: &str) -> Value {
        json!({"enabled": enabled, "active": active, "why": "the kernel has no module sch_cake",
            "cause": {"code": code, "params": {"module": "sch_cake"}}})
    }

    #[test]
    fn reports_an_enabled_setting_without_effect_and_its_reason() {
        let finding = run(&state(true, false, "no-module")).expect("a finding");
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.params["why"], "the kernel has no module sch_cake");
        assert_eq!(finding.evidence[0].of, "no-module");
    }

    #[test]
    fn a_setting_that_is_off_in_force_or_pending_has_no_finding() {
        for (enabled, active, code) in [
            (false, false, "no-module"),
            (true, true, "refused"),
            (true, false, "applying"),
            (true, false, "waiting"),
        ] {
            assert_eq!(run(&state(enabled, active, code)), None, "{code}");
        }
    }
}
