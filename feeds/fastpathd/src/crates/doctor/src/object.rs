// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `fastpath.doctor` in the program that rpcd runs.

use std::future::ready;
use std::path::{Path, PathBuf};

use plugin::{Call, CallReason, Map, Method, Object, Origin, Refusal, SESSION, Sample};

use crate::answer::{answer, is_background};
use crate::machine::{Router, lower_priority};
use crate::reason::DoctorReason;
use crate::turn::{LOCK, LONG_TIMEOUT, TIMEOUT, acquire};

pub static OBJECT: Object = Object {
    name: "fastpath.doctor",
    methods: &[
        Method { name: "run", args: RUN, run: |call| Box::pin(ready(answered("run", RUN, &call))) },
        Method { name: "last", args: &[], run: |call| Box::pin(ready(last(&call))) },
        Method { name: "fix", args: FIX, run: |call| Box::pin(ready(answered("fix", FIX, &call))) },
        Method {
            name: "pmtu",
            args: PMTU,
            run: |call| Box::pin(ready(answered("pmtu", PMTU, &call))),
        },
        Method { name: "ppe", args: PPE, run: |call| Box::pin(ready(answered("ppe", PPE, &call))) },
    ],
};

const RUN: &[(&str, Sample)] =
    &[("checks", Sample::List), ("sample_ms", Sample::Number), ("background", Sample::Flag)];
const FIX: &[(&str, Sample)] = &[
    ("id", Sample::Text),
    ("seconds", Sample::Number),
    ("via", Sample::Text),
    ("cut_ok", Sample::Flag),
];

const PMTU: &[(&str, Sample)] = &[("target", Sample::Text)];
const PPE: &[(&str, Sample)] = &[
    ("proto", Sample::Text),
    ("src", Sample::Text),
    ("sport", Sample::Number),
    ("dst", Sample::Text),
    ("dport", Sample::Number),
    ("nat_src", Sample::Text),
    ("nat_sport", Sample::Number),
    ("nat_dst", Sample::Text),
    ("nat_dport", Sample::Number),
];

fn answered(
    method: &'static str,
    known: &'static [(&'static str, Sample)],
    call: &Call,
) -> Result<Map, Refusal> {
    let args = given(known, call);
    let failed = |error: std::io::Error| {
        let (path, said) = (LOCK.to_owned(), error.to_string());
        Refusal::new("failed", CallReason::File { what: "locking", path, said })
    };
    let timeout = match call.origin {
        Origin::Bus => TIMEOUT,
        Origin::CommandLine => LONG_TIMEOUT,
    };
    let Some(_turn) = acquire(Path::new(LOCK), timeout).map_err(failed)? else {
        return Err(DoctorReason::Busy.into());
    };
    execute(method, args, call.origin)
}

/// Returns the stored report, without the lock of a run.
fn last(call: &Call) -> Result<Map, Refusal> {
    execute("last", given(&[], call), call.origin)
}

fn given(known: &'static [(&'static str, Sample)], call: &Call) -> Map {
    let names = known.iter().map(|(name, _)| *name).chain([SESSION]);
    names.filter_map(|name| Some((name.to_owned(), call.value(name)?.clone()))).collect()
}

/// Runs a method in a thread, because checks block on programs and ubus.
fn execute(method: &'static str, args: Map, origin: Origin) -> Result<Map, Refusal> {
    let answered = std::thread::spawn(move || {
        if is_background(&args)? {
            lower_priority();
        }
        let socket = std::env::var_os("UBUS_SOCKET").map(PathBuf::from);
        let router = Router::new(&socket.unwrap_or_else(|| ubus::SOCKET.into()));
        answer(&router, method, &args, origin)
    });
    answered.join().unwrap_or_else(|_| Err(DoctorReason::Ended.into()))
}
