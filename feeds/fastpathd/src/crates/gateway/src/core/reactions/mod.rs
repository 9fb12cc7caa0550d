// SPDX-License-Identifier: GPL-2.0-or-later
//! Reactions of the subsystems to each other. No other module crosses their boundaries.

mod conntrack;
mod doctor;
mod ebpf;
mod engine;
mod export;
mod foreign;
mod history;
mod inspection;
mod latency;
mod machine;
mod network;
mod pause;
mod table;
