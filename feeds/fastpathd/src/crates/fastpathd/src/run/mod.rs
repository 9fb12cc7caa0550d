// SPDX-License-Identifier: GPL-2.0-or-later

pub(crate) mod configuration;
pub(crate) mod conntrack;
pub(crate) mod cpu;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod history;
pub(crate) mod ips;
pub(crate) mod latency;
pub(crate) mod network;
pub(crate) mod offload;
pub(crate) mod rules;
pub(crate) mod stations;
