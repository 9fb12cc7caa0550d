// SPDX-License-Identifier: GPL-2.0-or-later
//! The methods of object `fastpath`, with their argument types.

use ubus::Method;
use ubus::PolicyType::{Array, Bool, Int32, Int64, String as Text, Table};

/// Session id that uhttpd adds to each call. A method without this argument cannot be called from
/// the web.
const SESSION: ubus::Argument = ("ubus_rpc_session", Text);

/// All methods, as in `schema/*.json`.
pub const METHODS: &[Method] = &[
    Method { name: "status", policy: &[SESSION] },
    Method {
        name: "flows",
        policy: &[
            ("filter", Table),
            ("sort", Text),
            ("desc", Bool),
            ("group", Text),
            ("offset", Int32),
            ("limit", Int32),
            SESSION,
        ],
    },
    // Conntrack ids are unsigned 32-bit numbers, which `Int32` cannot hold.
    Method { name: "flow", policy: &[("id", Int64), SESSION] },
    Method { name: "top", policy: &[("by", Text), ("limit", Int32), SESSION] },
    Method { name: "devices", policy: &[SESSION] },
    Method {
        name: "history",
        policy: &[("series", Text), ("step_s", Int32), ("from_ms", Int64), SESSION],
    },
    Method {
        name: "usage",
        policy: &[("mac", Text), ("step", Text), ("from_ms", Int64), ("to_ms", Int64), SESSION],
    },
    Method {
        name: "journal",
        policy: &[("since", Int64), ("after", Int64), ("limit", Int32), SESSION],
    },
    Method { name: "topology", policy: &[SESSION] },
    Method { name: "cpu", policy: &[SESSION] },
    Method { name: "ebpf", policy: &[SESSION] },
    Method { name: "ips", policy: &[SESSION] },
    Method { name: "metrics", policy: &[SESSION] },
    Method {
        name: "alerts",
        policy: &[("filter", Table), ("since", Int64), ("limit", Int32), SESSION],
    },
    Method { name: "blocks", policy: &[SESSION] },
    Method { name: "exports", policy: &[SESSION] },
    Method { name: "block_release", policy: &[("address", Text), SESSION] },
    Method { name: "reinspect", policy: &[SESSION] },
    Method { name: "rules_update", policy: &[SESSION] },
    Method { name: "doctor", policy: &[("checks", Array), ("sample_ms", Int32), SESSION] },
    Method { name: "engine", policy: &[("set", Text), SESSION] },
    Method { name: "flush", policy: &[SESSION] },
    // Called by `fastpath.change` on the router. Without `SESSION`, the web cannot call it.
    Method { name: "disconnect", policy: &[("pairs", Array)] },
];
