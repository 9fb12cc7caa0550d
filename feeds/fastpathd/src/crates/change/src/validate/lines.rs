// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/mwan3` and `/etc/config/igmpproxy`, whose scripts skip most of these faults
//! silently.

use super::Report;
use super::common::v4;
use super::interface::unknown_interface;
use ::uci::Section;

/// mwan3 skips a policy or rule with a longer name.
const MAX_MWAN3_NAME_LEN: usize = 15;
/// Policies that mwan3 has without a section.
const BUILT_IN: &[&str] = &["default", "unreachable", "blackhole"];

pub(super) fn judge_mwan3(report: &mut Report<'_>) {
    interfaces(report, "interface", |section| {
        section.is_on("enabled", false).then_some(&*section.name)
    });
    for interface in report.of("interface") {
        report.text(interface, "family", "ipv4 or ipv6", |text| ["ipv4", "ipv6"].contains(&text));
    }
    for member in report.of("member") {
        report.number(member, "metric", 1..=256);
        report.number(member, "weight", 1..=1000);
    }
    references(report, "member", "interface", "interface", &[]);
    references(report, "policy", "use_member", "member", &[]);
    references(report, "rule", "use_policy", "policy", BUILT_IN);
    for section in report.of("policy").into_iter().chain(report.of("rule")) {
        if section.name.len() > MAX_MWAN3_NAME_LEN {
            let text = format!("mwan3 skips names of more than {MAX_MWAN3_NAME_LEN} characters");
            let longest = MAX_MWAN3_NAME_LEN.to_string();
            report.note(section, "", "too-many-characters", &[("longest", &longest)], &text);
        }
    }
}

pub(super) fn judge_igmpproxy(report: &mut Report<'_>) {
    interfaces(report, "phyint", |section| section.text("network"));
    for section in report.of("phyint") {
        report.text(section, "direction", "upstream or downstream", |text| {
            ["upstream", "downstream"].contains(&text)
        });
        report.each(section, "altnet", "an IPv4 network such as 10.0.0.0/8", |text| {
            v4(text).is_some_and(|(_, prefix)| prefix.is_some())
        });
    }
}

/// Reports sections that name an interface that `/etc/config/network` lacks.
fn interfaces<'a>(
    report: &mut Report<'a>,
    kind: &'a str,
    name_of: impl Fn(&'a Section) -> Option<&'a str>,
) {
    let known = report.others("network", "interface");
    for section in report.of(kind) {
        let name = name_of(section).filter(|name| !known.iter().any(|of| of.name == *name));
        if let Some(name) = name {
            unknown_interface(report, section, "", name);
        }
    }
}

/// Reports names of missing sections in an option.
fn references<'a>(
    report: &mut Report<'a>,
    kind: &'a str,
    option: &str,
    target: &'a str,
    others: &[&str],
) {
    let targets = report.of(target);
    for section in report.of(kind) {
        for name in section.words(option) {
            if others.contains(&name) || targets.iter().any(|of| of.name == name) {
                continue;
            }
            let text = format!("there is no {target} '{}'", name.escape_debug());
            let params = [("type", target), ("section", name)];
            report.note(section, option, "unknown-section", &params, &text);
        }
    }
}
