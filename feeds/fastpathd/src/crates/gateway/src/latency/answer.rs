// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the field `latency` in the answer of `status`.

use ::latency::{IFB, Plan};
use config::Cause;
use serde::Serialize;

use crate::latency::State;

/// State of latency control (`types.json`, Latency).
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    enabled: bool,
    active: bool,
    interface: String,
    port: String,
    ingress: &'static str,
    hosts: Vec<String>,
    download_kbps: u32,
    upload_kbps: u32,
    overhead: u32,
    why: String,
    cause: Cause,
}

pub(crate) fn latency(state: &State) -> Latency {
    let enabled = state.settings.as_ref().is_some_and(|settings| settings.enabled);
    let cause = state.reason().map(|reason| reason.cause()).unwrap_or_default();
    let plan = state.in_force();
    let text = |of: fn(&Plan) -> &str| plan.map(of).unwrap_or_default().to_owned();
    let hosts = plan.map(|plan| plan.hosts.iter().map(|host| host.name.to_string()).collect());
    let settings = state.settings.as_ref();
    Latency {
        enabled,
        active: plan.is_some(),
        interface: text(|plan| &plan.interface),
        port: text(|plan| &plan.port.name),
        ingress: if plan.is_some() { IFB } else { "" },
        hosts: hosts.unwrap_or_default(),
        download_kbps: plan.map_or_else(|| settings.map_or(0, |s| s.download), |p| p.download),
        upload_kbps: plan.map_or_else(|| settings.map_or(0, |s| s.upload), |p| p.upload),
        overhead: plan.map_or(0, |plan| plan.overhead),
        why: cause.text.clone(),
        cause,
    }
}
