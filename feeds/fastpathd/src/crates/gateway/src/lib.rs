// SPDX-License-Identifier: GPL-2.0-or-later
//! The gateway's state and decisions: events in, effects out, without I/O and clocks. `fastpathd`
//! reads the events and executes the effects.
// A wildcard arm would hide a variant that is added later.
#![cfg_attr(
    not(test),
    deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)
)]

pub mod api;
pub mod configuration;
pub mod conntrack;
pub mod core;
pub mod cpu;
pub mod devices;
pub mod doctor;
pub mod effect;
pub mod event;
pub mod export;
#[cfg(test)]
mod fixture;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod history;
pub mod ips;
#[cfg(any(test, feature = "lab"))]
pub mod lab;
pub mod latency;
pub mod metrics;
pub mod network;
mod notification;
pub mod offload;
pub mod reconcile;
pub mod rules;
pub mod sys;
#[cfg(test)]
mod tests;
