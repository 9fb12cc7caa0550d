// SPDX-License-Identifier: GPL-2.0-or-later
//! Gateways for `./build.sh bench fleet`:
//! `fleet GATEWAYS FLOWS COLLECTOR ACTIVE_TIMEOUT IDLE_TIMEOUT`.

use std::process::ExitCode;

use fastpathd::bench::{Options, run};

fn options(words: &[String]) -> Option<Options> {
    let [gateways, flows, collector, active, idle] = words else { return None };
    Some(Options {
        gateways: gateways.parse().ok()?,
        flows: flows.parse().ok()?,
        collector: collector.parse().ok()?,
        active_s: active.parse().ok()?,
        idle_s: idle.parse().ok()?,
    })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = options(&words) else {
        eprintln!("usage: fleet GATEWAYS FLOWS ADDRESS:PORT ACTIVE_TIMEOUT IDLE_TIMEOUT");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet: {error}");
            ExitCode::FAILURE
        }
    }
}
