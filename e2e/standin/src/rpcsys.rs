// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `rpc-sys` of rpcd's plug-in, without package lists: passwords, images, factory
//! reset, reboot. Programs of the router do the work.

use serde_json::Value;
use ubus::{Argument, Map, Method, PolicyType, Status};

use crate::exec::{self, Action, Program};
use crate::reply::text;

const SESSION: Argument = ("ubus_rpc_session", PolicyType::String);
const IMAGE: &str = "/tmp/firmware.bin";
/// Seconds between the answer and a reboot, reset or upgrade.
const DELAY_S: &str = "2";

pub const METHODS: &[Method] = &[
    Method {
        name: "password_set",
        policy: &[("user", PolicyType::String), ("password", PolicyType::String), SESSION],
    },
    Method { name: "upgrade_test", policy: &[SESSION] },
    Method { name: "upgrade_start", policy: &[("keep", PolicyType::Bool), SESSION] },
    Method { name: "upgrade_clean", policy: &[SESSION] },
    Method { name: "factory", policy: &[SESSION] },
    Method { name: "reboot", policy: &[SESSION] },
];

/// Returns the action that answers a call.
///
/// # Errors
/// Returns the status for the caller.
pub fn action((method, args): (&str, &Map)) -> Result<Action, Status> {
    let later = |line: &str| {
        let words = ["-c", &format!("sleep {DELAY_S}; exec {line}")].map(str::to_owned);
        Ok(Action::Background(Program::new("/bin/sh", &words)))
    };
    match method {
        "password_set" => {
            let (user, password) = (text(args, "user"), text(args, "password"));
            let (Some(user), Some(password)) = (user, password) else {
                return Err(Status::InvalidArgument);
            };
            let mut program = Program::new("/bin/passwd", &[user]);
            program.input = format!("{password}\n{password}\n").into_bytes();
            Ok(Action::Wait(program))
        }
        "upgrade_test" => Ok(Action::Output(Program::new("/sbin/sysupgrade", &["--test", IMAGE]))),
        "upgrade_start" => {
            let keep = args.get("keep").and_then(Value::as_bool).unwrap_or(false);
            let option = if keep { "" } else { "-n " };
            later(&format!("/sbin/sysupgrade {option}{IMAGE}"))
        }
        "upgrade_clean" => {
            std::fs::remove_file(IMAGE).map_err(exec::status)?;
            Ok(Action::Done)
        }
        "factory" => later("/sbin/jffs2reset -y -r"),
        "reboot" => later("/sbin/reboot"),
        _ => Err(Status::MethodNotFound),
    }
}
