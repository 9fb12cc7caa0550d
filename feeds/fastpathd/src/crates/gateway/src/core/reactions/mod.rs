// SPDX-License-Identifier: GPL-2.0-or-later
//! Reactions of a subsystem to changes of others. Only here, one subsystem reads or changes the
//! state of another.

mod conntrack;
mod doctor;
mod ebpf;
mod engine;
mod export;
mod foreign;
mod inspection;
mod latency;
mod machine;
mod network;
mod table;
