// SPDX-License-Identifier: GPL-2.0-or-later
//! Offloading of flows: the flowtable and the eBPF engine.

pub(crate) mod answer;
pub(crate) mod attach;
pub(crate) mod ebpf;
pub(crate) mod endpoint;
pub(crate) mod enforcement;
pub(crate) mod flowtable;
pub(crate) mod forwarding;
