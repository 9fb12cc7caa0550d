// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods of the ubus object `uci`, and the arguments of a call.

use std::time::Duration;

use serde_json::Value as Json;
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::text;
use crate::session::Sessions;

const CONFIG: ubus::Argument = ("config", PolicyType::String);
const SECTION: ubus::Argument = ("section", PolicyType::String);
const OPTION: ubus::Argument = ("option", PolicyType::String);
const TYPE: ubus::Argument = ("type", PolicyType::String);
const MATCH: ubus::Argument = ("match", PolicyType::Table);
const NAME: ubus::Argument = ("name", PolicyType::String);
const VALUES: ubus::Argument = ("values", PolicyType::Table);
const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);
const GET: &[ubus::Argument] = &[CONFIG, SECTION, OPTION, TYPE, MATCH, SESSION];
const WHOLE: &[ubus::Argument] = &[CONFIG, SESSION];

/// Methods of rpcd's object; the stand-in supports only some of them.
pub const METHODS: &[Method] = &[
    Method { name: "configs", policy: &[] },
    Method { name: "get", policy: GET },
    Method { name: "state", policy: GET },
    Method { name: "add", policy: &[CONFIG, TYPE, NAME, VALUES, SESSION] },
    Method { name: "set", policy: &[CONFIG, SECTION, TYPE, MATCH, VALUES, SESSION] },
    Method {
        name: "delete",
        policy: &[CONFIG, SECTION, TYPE, MATCH, OPTION, ("options", PolicyType::Array), SESSION],
    },
    Method { name: "rename", policy: &[CONFIG, SECTION, OPTION, NAME, SESSION] },
    Method { name: "order", policy: &[CONFIG, ("sections", PolicyType::Array), SESSION] },
    Method { name: "changes", policy: WHOLE },
    Method { name: "revert", policy: WHOLE },
    Method { name: "commit", policy: WHOLE },
    Method {
        name: "apply",
        policy: &[("rollback", PolicyType::Bool), ("timeout", PolicyType::Int32), SESSION],
    },
    Method { name: "confirm", policy: &[SESSION] },
    Method { name: "rollback", policy: &[SESSION] },
    Method { name: "reload_config", policy: &[] },
];

pub(super) struct Call<'a> {
    pub(super) args: &'a Map,
    pub(super) sessions: &'a mut Sessions,
    pub(super) now: Duration,
}

impl<'a> Call<'a> {
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        text(self.args, name)
    }

    pub(super) fn need(&self, name: &str) -> Result<&'a str, Status> {
        self.text(name).ok_or(Status::InvalidArgument)
    }

    pub(super) fn table(&self, name: &str) -> Option<&'a Map> {
        self.args.get(name).and_then(Json::as_object)
    }

    pub(super) fn session(&self) -> Option<&'a str> {
        self.text("ubus_rpc_session")
    }

    /// Returns whether the caller has the right. Callers without a session are local and
    /// unrestricted.
    pub(super) fn may(&mut self, right: &str, config: &str) -> bool {
        let now = self.now;
        self.session().is_none_or(|id| self.sessions.allow(id, "uci", config, right, now))
    }

    pub(super) fn check(&mut self, right: &str, config: &str) -> Result<(), Status> {
        if self.may(right, config) { Ok(()) } else { Err(Status::PermissionDenied) }
    }
}
