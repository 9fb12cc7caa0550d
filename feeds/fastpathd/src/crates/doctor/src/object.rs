// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.doctor` on ubus, in the program that rpcd runs: its methods and their
//! arguments. They are carried out in `answer.rs`.

use std::future::ready;
use std::path::{Path, PathBuf};

use plugin::{Call, CallReason, Map, Method, Object, Refusal, SESSION, Sample};

use crate::answer::answer;
use crate::machine::Router;
use crate::reason::DoctorReason;
use crate::turn::{LOCK, PATIENCE, turn};

/// The object on ubus.
pub const OBJECT: Object = Object {
    name: "fastpath.doctor",
    methods: &[
        Method { name: "run", args: RUN, run: |call| Box::pin(ready(answered("run", RUN, &call))) },
        Method { name: "fix", args: FIX, run: |call| Box::pin(ready(answered("fix", FIX, &call))) },
        Method {
            name: "pmtu",
            args: PMTU,
            run: |call| Box::pin(ready(answered("pmtu", PMTU, &call))),
        },
    ],
};

const RUN: &[(&str, Sample)] = &[("checks", Sample::List), ("sample_ms", Sample::Number)];
const FIX: &[(&str, Sample)] = &[
    ("id", Sample::Text),
    ("seconds", Sample::Number),
    ("via", Sample::Text),
    ("cut_ok", Sample::Flag),
];

const PMTU: &[(&str, Sample)] = &[("target", Sample::Text)];

fn answered(
    method: &'static str,
    known: &'static [(&'static str, Sample)],
    call: &Call,
) -> Result<Map, Refusal> {
    let names = known.iter().map(|(name, _)| *name).chain([SESSION]);
    let given = names.filter_map(|name| Some((name.to_owned(), call.value(name)?.clone())));
    let args: Map = given.collect();
    let origin = call.origin;
    let failed = |error: std::io::Error| {
        let (path, said) = (LOCK.to_owned(), error.to_string());
        Refusal::new("failed", CallReason::File { what: "locking", path, said })
    };
    let Some(_turn) = turn(Path::new(LOCK), PATIENCE).map_err(failed)? else {
        return Err(DoctorReason::Busy.into());
    };
    // The router waits for its programs and for the bus, which a task must not.
    let answered = std::thread::spawn(move || {
        let socket = std::env::var_os("UBUS_SOCKET").map(PathBuf::from);
        let router = Router::new(&socket.unwrap_or_else(|| ubus::SOCKET.into()));
        answer(&router, method, &args, origin)
    });
    answered.join().unwrap_or_else(|_| Err(DoctorReason::Ended.into()))
}
