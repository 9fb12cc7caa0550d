// SPDX-License-Identifier: GPL-2.0-or-later
//! Access between zones that a draft grants or withdraws: forwardings, zone policies, port forwards
//! and rules. Rules are compared by zones, protocols and ports.

use config::exposure::accepts;
use serde::Serialize;

use crate::draft::Draft;
use ::uci::{Package, Section};

/// Access that a change grants or withdraws.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Access {
    /// `false` if the change withdraws the access.
    granted: bool,
    #[serde(flatten)]
    path: Path,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Path {
    /// Kind of the setting: `zone`, `router`, `port` or `rule`.
    code: &'static str,
    /// Source zone, `*` for all zones.
    from: String,
    /// Destination zone: `*` for all zones, empty for the router. The host of a port forward.
    to: String,
    /// Protocols and ports such as `tcp udp 53`. Empty for all.
    ports: String,
    name: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Setting {
    Allows(Path),
    Denies(Path),
}

impl Setting {
    /// Returns whether both settings have the same effect. Ignores names.
    fn is_as(&self, other: &Self) -> bool {
        let path = |of: &Path| Path { name: String::new(), ..of.clone() };
        match (self, other) {
            (Self::Allows(one), Self::Allows(two)) | (Self::Denies(one), Self::Denies(two)) => {
                path(one) == path(two)
            }
            (Self::Allows(_), Self::Denies(_)) | (Self::Denies(_), Self::Allows(_)) => false,
        }
    }
}

const ANY: &str = "*";

/// Returns the effects of new settings, then of removed settings, in the order of the file.
pub(crate) fn access(draft: &Draft) -> Vec<Access> {
    let settings =
        |packages: &crate::Packages| packages.get("firewall").map(settings).unwrap_or_default();
    let (before, after) = (settings(&draft.before), settings(&draft.after));
    let mut found: Vec<Access> = Vec::new();
    let mut add = |setting: &Setting, is_new: bool| {
        let (path, granted) = match setting {
            Setting::Allows(path) => (path.clone(), is_new),
            Setting::Denies(path) => (path.clone(), !is_new),
        };
        let each = Access { granted, text: path.text(), path };
        if !found.contains(&each) {
            found.push(each);
        }
    };
    let has = |all: &[Setting], one: &Setting| all.iter().any(|each| each.is_as(one));
    for setting in after.iter().filter(|each| !has(&before, each)) {
        add(setting, true);
    }
    for setting in before.iter().filter(|each| !has(&after, each)) {
        add(setting, false);
    }
    found
}

impl Path {
    fn zones(code: &'static str, from: &str, to: &str) -> Self {
        let [ports, name] = [const { String::new() }; 2];
        Self { code, from: from.to_owned(), to: to.to_owned(), ports, name }
    }

    fn text(&self) -> String {
        let zone = |name: &str| match name {
            "" => "the router".to_owned(),
            ANY => "every zone".to_owned(),
            _ => format!("zone '{}'", name.escape_debug()),
        };
        let to = if self.code == "port" { self.to.clone() } else { zone(&self.to) };
        let ports = if self.ports.is_empty() { "any port" } else { &self.ports };
        let path = format!("{} to {to}, {ports}", zone(&self.from));
        match &*self.name {
            "" => path,
            name => format!("{path} ('{}')", name.escape_debug()),
        }
    }
}

fn settings(firewall: &Package) -> Vec<Setting> {
    let default = |policy| firewall.of("defaults").find_map(|of| of.text(policy));
    let mut found = Vec::new();
    for section in firewall.sections.iter().filter(|section| section.is_on("enabled", true)) {
        let text = |option| section.text(option).unwrap_or_default();
        match section.kind.as_str() {
            "zone" => {
                let name = text("name");
                let open = |policy| section.text(policy).or(default(policy)).is_some_and(accepts);
                if open("input") {
                    found.push(Setting::Allows(Path::zones("router", name, "")));
                }
                // The policy `forward` applies between networks of the zone.
                if open("forward") {
                    found.push(Setting::Allows(Path::zones("zone", name, name)));
                }
            }
            "defaults" if section.text("forward").is_some_and(accepts) => {
                found.push(Setting::Allows(Path::zones("zone", ANY, ANY)));
            }
            "forwarding" => {
                found.push(Setting::Allows(Path::zones("zone", text("src"), text("dest"))));
            }
            "redirect" => found.extend(port_forward(section).map(Setting::Allows)),
            "rule" => found.extend(rule(section)),
            _ => {}
        }
    }
    found
}

/// Returns the path of a redirect to a host. `None` for a redirect to the router, and for SNAT.
fn port_forward(section: &Section) -> Option<Path> {
    let host = section.text("dest_ip")?;
    if section.text("target").is_some_and(|target| is_prefix(target, "snat")) {
        return None;
    }
    let to = match section.text("dest_port").or(section.text("src_dport")) {
        None => host.to_owned(),
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
    };
    let mut path = Path::zones("port", section.text("src")?, &to);
    path.ports = ports(section, "src_dport");
    section.text("name").unwrap_or_default().clone_into(&mut path.name);
    Some(path)
}

/// Returns the effect of a rule. `None` for a rule that neither accepts nor denies.
fn rule(section: &Section) -> Option<Setting> {
    // A rule without a source applies to packets from the router.
    let from = section.text("src")?;
    let mut path = Path::zones("rule", from, section.text("dest").unwrap_or_default());
    path.ports = ports(section, "dest_port");
    section.text("name").unwrap_or_default().clone_into(&mut path.name);
    let target = section.text("target")?;
    if accepts(target) {
        Some(Setting::Allows(path))
    } else if is_prefix(target, "drop") || is_prefix(target, "reject") {
        Some(Setting::Denies(path))
    } else {
        None
    }
}

/// Returns whether `text` is an abbreviation of `name`. fw4 accepts any prefix in any case.
fn is_prefix(text: &str, name: &str) -> bool {
    !text.is_empty() && name.starts_with(&text.to_ascii_lowercase())
}

/// Returns the protocols and ports of a section. Without a protocol, fw4 assumes TCP and UDP.
fn ports(section: &Section, option: &str) -> String {
    let mut parts = section.words("proto");
    if parts.is_empty() {
        parts = vec!["tcp", "udp"];
    }
    if matches!(parts[..], ["all" | "any" | ANY]) {
        parts.clear();
    }
    parts.extend(section.words(option));
    parts.join(" ")
}

#[cfg(test)]
mod tests;
