// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `session`.

use std::time::Duration;

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use super::store::DEFAULT_TIMEOUT_S;
use super::{Accounts, Grants, NOBODY, Sessions};
use crate::reply::{Answer, text};

const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);

/// Methods of rpcd's object; the stand-in supports only some of them.
pub const METHODS: &[Method] = &[
    Method { name: "create", policy: &[("timeout", PolicyType::Int32)] },
    Method { name: "list", policy: &[SESSION] },
    Method { name: "grant", policy: GRANT },
    Method { name: "revoke", policy: GRANT },
    Method {
        name: "access",
        policy: &[
            SESSION,
            ("scope", PolicyType::String),
            ("object", PolicyType::String),
            ("function", PolicyType::String),
        ],
    },
    Method { name: "set", policy: &[SESSION, ("values", PolicyType::Table)] },
    Method { name: "get", policy: &[SESSION, ("keys", PolicyType::Array)] },
    Method { name: "unset", policy: &[SESSION, ("keys", PolicyType::Array)] },
    Method { name: "destroy", policy: &[SESSION] },
    Method {
        name: "login",
        policy: &[
            ("username", PolicyType::String),
            ("password", PolicyType::String),
            ("timeout", PolicyType::Int32),
        ],
    },
];

const GRANT: &[ubus::Argument] =
    &[SESSION, ("scope", PolicyType::String), ("objects", PolicyType::Array)];

/// Answers a call. Like rpcd, treats arguments of a wrong type as missing. `reclaimed` is the
/// session with an unconfirmed `uci apply`; a login of its user resumes it, because the change may
/// have disconnected the browser.
///
/// # Errors
/// Returns the status for the caller.
pub fn answer(
    sessions: &mut Sessions,
    accounts: &Accounts,
    reclaimed: Option<&str>,
    (method, args): (&str, &Map),
    now: Duration,
) -> Answer {
    match method {
        "create" => create(sessions, args, now),
        "login" => login(sessions, accounts, reclaimed, args, now),
        "destroy" => destroy(sessions, args),
        _ => {
            let id = text(args, "ubus_rpc_session").ok_or(Status::InvalidArgument)?;
            let session = sessions.get(id, now).ok_or(Status::NotFound)?;
            match method {
                "list" => Ok(session.describe(id, now)),
                "grant" => grant(&mut session.grants, args),
                "access" => Ok(access(&session.grants, args)),
                "get" => {
                    let wanted =
                        |key: &String| keys(args).is_none_or(|keys| keys.contains(&key.as_str()));
                    let data = session.data.iter().filter(|(key, _)| wanted(key));
                    let values: Map = data.map(|(k, v)| (k.clone(), v.clone())).collect();
                    Ok(Map::from_iter([("values".to_owned(), Value::Object(values))]))
                }
                _ => Err(Status::NotSupported),
            }
        }
    }
}

fn keys(args: &Map) -> Option<Vec<&str>> {
    let keys = args.get("keys")?.as_array()?;
    Some(keys.iter().filter_map(Value::as_str).collect())
}

fn new_id() -> Result<String, Status> {
    crate::random::hex_id().map_err(|error| {
        log::error!("making a session id: {error}");
        Status::UnknownError
    })
}

fn create(sessions: &mut Sessions, args: &Map, now: Duration) -> Answer {
    let id = new_id()?;
    let timeout = args.get("timeout").and_then(Value::as_i64).unwrap_or(DEFAULT_TIMEOUT_S);
    Ok(sessions.create(&id, timeout, now).describe(&id, now))
}

fn login(
    sessions: &mut Sessions,
    accounts: &Accounts,
    reclaimed: Option<&str>,
    args: &Map,
    now: Duration,
) -> Answer {
    let user = text(args, "username").ok_or(Status::InvalidArgument)?;
    let password = text(args, "password").ok_or(Status::InvalidArgument)?;
    let grants = accounts.log_in(user, password).ok_or(Status::PermissionDenied)?;
    let timeout = args.get("timeout").and_then(Value::as_i64).unwrap_or(DEFAULT_TIMEOUT_S);
    let same_user = |id: &&str| {
        let known = sessions.get(id, now);
        known.is_some_and(|s| s.data.get("username").and_then(Value::as_str) == Some(user))
    };
    let id = if let Some(id) = reclaimed.filter(same_user) {
        id.to_owned()
    } else {
        let id = new_id()?;
        sessions.create(&id, timeout, now);
        id
    };
    let session = sessions.get(&id, now).ok_or(Status::UnknownError)?;
    session.grants = grants;
    session.data.insert("username".to_owned(), user.into());
    Ok(session.describe(&id, now))
}

fn destroy(sessions: &mut Sessions, args: &Map) -> Answer {
    let id = text(args, "ubus_rpc_session").ok_or(Status::InvalidArgument)?;
    if id == NOBODY {
        return Err(Status::PermissionDenied);
    }
    if sessions.destroy(id) { Ok(Map::new()) } else { Err(Status::NotFound) }
}

fn grant(grants: &mut Grants, args: &Map) -> Answer {
    let scope = text(args, "scope").unwrap_or("ubus");
    let rights = args.get("objects").and_then(Value::as_array).ok_or(Status::InvalidArgument)?;
    for right in rights.iter().filter_map(Value::as_array) {
        let mut words = right.iter().filter_map(Value::as_str);
        if let (Some(object), Some(function)) = (words.next(), words.next()) {
            grants.grant(scope, object, function);
        }
    }
    Ok(Map::new())
}

fn access(grants: &Grants, args: &Map) -> Map {
    let (Some(object), Some(function)) = (text(args, "object"), text(args, "function")) else {
        return grants.to_map();
    };
    let allowed = grants.allow(text(args, "scope").unwrap_or("ubus"), object, function);
    Map::from_iter([("access".to_owned(), json!(allowed))])
}
