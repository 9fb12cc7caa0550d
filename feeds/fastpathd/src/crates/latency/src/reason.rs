// SPDX-License-Identifier: GPL-2.0-or-later
//! Coded reasons why enabled latency control is not in force.

config::coded! {
    /// Why the plan is not in force. `said` is the kernel's message.
    pub enum LatencyReason {
        Waiting = "waiting", "waiting for the network";
        Applying = "applying", "being applied";
        NoWan = "no-wan", "there is no WAN interface";
        NoInterface { interface: String } = "no-interface", "interface {interface} does not exist";
        NoPort { interface: String } = "no-port",
            "interface {interface} does not run over an Ethernet port of its own";
        PortShared { port: String, devices: String } = "port-shared",
            "port {port} also carries {devices}, whose traffic must not be limited";
        NoHosts = "no-hosts", "no port leads to another network";
        Hardware = "hardware", "flows in hardware would bypass it; use engine flowtable";
        Sqm { device: String } = "sqm",
            "SQM limits {device} already (/etc/config/sqm); disable its queue";
        Foreign { device: String, kind: String } = "foreign",
            "{device} has a queueing discipline of another program: {kind}";
        NoModule { module: String } = "no-module", "the kernel has no module {module}";
        Refused { said: String } = "refused", "the kernel refused: {said}";
    }
}
