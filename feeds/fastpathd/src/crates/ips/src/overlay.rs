// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders Suricata's arguments and the YAML that Suricata includes after the file of its package.
//!
//! `--include` *replaces* every top-level section that it names, so every section here must be
//! complete. Suricata ignores a missing file, so the init script has to check for it.

use std::path::PathBuf;

use config::Network;
use model::{FailPolicy, InspectionMode};

use crate::settings::Settings;
use crate::threads::Threads;

mod capture;
mod inspection;
mod yaml;

use yaml::{list, quoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub events: PathBuf,
    pub commands: PathBuf,
    /// Rule files, which must exist.
    pub rules: Vec<PathBuf>,
    /// Rules that mark connections with a TCP handshake; see `Offence` in `eve/alert.rs`.
    pub handshake: PathBuf,
    /// Rules that end the inspection of encrypted connections.
    pub encrypted: PathBuf,
    pub classification: PathBuf,
    pub references: PathBuf,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            events: "/var/run/fastpath/ips/eve.sock".into(),
            commands: "/var/run/suricata/command.sock".into(),
            rules: vec!["/usr/share/fastpath/rules/fastpath.rules".into()],
            handshake: "/usr/share/fastpath/rules/handshake.rules".into(),
            encrypted: "/usr/share/fastpath/rules/encrypted.rules".into(),
            classification: "/etc/suricata/classification.config".into(),
            references: "/etc/suricata/reference.config".into(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Overlay<'a> {
    pub settings: &'a Settings,
    /// CPUs of the threads, and the number of queues.
    pub threads: &'a Threads,
    /// Bits of the packet mark that fastpath uses. The highest one requests a bypass.
    pub mark_mask: u32,
    /// Some connections are inspected to their end, by a policy or by default.
    pub any_always: bool,
    /// Networks of the protected side. If empty, the private ranges.
    pub home: &'a [Network],
    pub files: &'a Files,
}

#[must_use]
pub fn bypass_mark(mark_mask: u32) -> u32 {
    mark_mask.checked_ilog2().map_or(0, |bit| 1 << bit)
}

#[must_use]
pub fn render(overlay: &Overlay<'_>) -> String {
    let parts = [
        "%YAML 1.1\n---\n# Written by fastpathd from /etc/config/fastpath.\n".to_owned(),
        overlay.vars(),
        overlay.rules(),
        overlay.outputs(),
        capture::render(overlay),
        inspection::render(overlay),
        overlay.threading(),
        LOGGING.to_owned(),
    ];
    parts.concat()
}

#[must_use]
pub fn arguments(settings: &Settings, threads: &Threads) -> Vec<String> {
    match settings.mode {
        InspectionMode::Nfq => {
            let first = settings.queue_first;
            let last = threads.last_queue(first);
            vec!["-q".to_owned(), format!("{first}:{last}")]
        }
        InspectionMode::Ids | InspectionMode::Inline => vec!["--af-packet".to_owned()],
    }
}

/// Logs only to the console, which procd reads. Core dumps of hundreds of MiB would fill a
/// router's memory.
const LOGGING: &str = "
logging:
  default-log-level: notice
  default-output-filter:
  outputs:
  - console:
      enabled: yes
  - file:
      enabled: no
  - syslog:
      enabled: no

coredump:
  max-dump: 0

profiling:
  rules:
    enabled: no
  keywords:
    enabled: no
  prefilter:
    enabled: no
  rulegroups:
    enabled: no
  packets:
    enabled: no
    csv:
      enabled: no
  locks:
    enabled: no
  pcap-log:
    enabled: no
";

impl Overlay<'_> {
    fn is_inline(&self) -> bool {
        self.settings.mode != InspectionMode::Ids
    }

    fn may_bypass(&self) -> bool {
        self.settings.mode == InspectionMode::Nfq && !self.any_always
    }

    /// Returns whether packets that cannot be inspected are dropped.
    fn drops_uninspected(&self) -> bool {
        self.is_inline() && self.settings.fail == FailPolicy::Closed
    }

    fn depth(&self) -> u32 {
        if self.any_always { 0 } else { self.settings.depth }
    }

    fn vars(&self) -> String {
        let networks = if self.settings.home.is_empty() { self.home } else { &self.settings.home };
        let whole = networks.iter().any(|network| network.prefix == 0);
        let texts: Vec<String> = networks.iter().map(ToString::to_string).collect();
        let home = match (whole, texts.is_empty()) {
            (true, _) => "any".to_owned(),
            (false, true) => format!("[{PRIVATE}]"),
            (false, false) => format!("[{}]", texts.join(",")),
        };
        // Suricata rejects rules with a negated "any".
        let external = if whole { "any" } else { "!$HOME_NET" };
        format!(
            "\nvars:\n  address-groups:\n    HOME_NET: \"{home}\"\n    \
             EXTERNAL_NET: \"{external}\"\n{GROUPS}"
        )
    }

    fn rules(&self) -> String {
        let encrypted = (!self.any_always).then_some(&self.files.encrypted);
        let files = self.files.rules.iter().chain([&self.files.handshake]).chain(encrypted);
        let files = files.map(|path| format!("  - {}\n", quoted(path)));
        format!(
            "\nrule-files:\n{}classification-file: {}\nreference-config-file: {}\n",
            files.collect::<String>(),
            quoted(&self.files.classification),
            quoted(&self.files.references),
        )
    }

    /// Renders the event stream. `metadata` adds flowbits to alerts, including the handshake's.
    fn outputs(&self) -> String {
        format!(
            "
stats:
  enabled: yes
  interval: 8

outputs:
  - eve-log:
      enabled: yes
      filetype: unix_stream
      filename: {}
      pcap-file: false
      community-id: false
      metadata: yes
      types:
        - alert:
            payload: no
            payload-printable: no
            packet: no
            http-body: no
            http-body-printable: no
            tagged-packets: no
            verdict: yes
            metadata:
              app-layer: true
              flow: true
              rule:
                metadata: false
                raw: false
                reference: false
        - drop:
            alerts: yes
            flows: start
        - tls:
            extended: no
            session-resumption: yes
            custom: [sni, version, ja4]
        - quic
        - flow
        - stats:
            totals: yes
            threads: no
            deltas: no

unix-command:
  enabled: yes
  filename: {}
",
            quoted(&self.files.events),
            quoted(&self.files.commands),
        )
    }

    fn threading(&self) -> String {
        let threads = self.threads;
        let pinned = threads.affinity && !threads.workers.is_empty();
        let mut text = format!(
            "\nthreading:\n  set-cpu-affinity: {}\n  autopin: no\n",
            if pinned { "yes" } else { "no" }
        );
        if pinned {
            text += "  cpu-affinity:\n";
            let workers = &threads.workers;
            let or_workers =
                |cpus: &'_ Vec<u32>| list(if cpus.is_empty() { workers } else { cpus });
            for (set, cpus, mode) in [
                ("management", or_workers(&threads.management), "balanced"),
                ("receive", or_workers(&threads.receive), "balanced"),
                ("verdict", or_workers(&threads.verdict), "balanced"),
                ("worker", list(workers), "exclusive"),
            ] {
                text.push_str(&cpu_set(set, &cpus, mode));
            }
        }
        text + "  detect-thread-ratio: 1.0\n"
    }
}

fn cpu_set(set: &str, cpus: &str, mode: &str) -> String {
    format!(
        "    {set}-cpu-set:
      cpu: {cpus}
      mode: \"{mode}\"
      prio:
        default: \"medium\"
"
    )
}

const PRIVATE: &str = "192.168.0.0/16,10.0.0.0/8,172.16.0.0/12,fc00::/7,fe80::/10";

/// Variables of public rule sets, except the networks.
const GROUPS: &str = "    HTTP_SERVERS: \"$HOME_NET\"
    SMTP_SERVERS: \"$HOME_NET\"
    SQL_SERVERS: \"$HOME_NET\"
    DNS_SERVERS: \"$HOME_NET\"
    TELNET_SERVERS: \"$HOME_NET\"
    AIM_SERVERS: \"$EXTERNAL_NET\"
    DC_SERVERS: \"$HOME_NET\"
    DNP3_SERVER: \"$HOME_NET\"
    DNP3_CLIENT: \"$HOME_NET\"
    MODBUS_CLIENT: \"$HOME_NET\"
    MODBUS_SERVER: \"$HOME_NET\"
    ENIP_CLIENT: \"$HOME_NET\"
    ENIP_SERVER: \"$HOME_NET\"
  port-groups:
    HTTP_PORTS: \"80\"
    SHELLCODE_PORTS: \"!80\"
    ORACLE_PORTS: 1521
    SSH_PORTS: 22
    DNP3_PORTS: 20000
    MODBUS_PORTS: 502
    FILE_DATA_PORTS: \"[$HTTP_PORTS,110,143]\"
    FTP_PORTS: 21
    GENEVE_PORTS: 6081
    VXLAN_PORTS: 4789
    TEREDO_PORTS: 3544
    SIP_PORTS: \"[5060, 5061]\"
";
