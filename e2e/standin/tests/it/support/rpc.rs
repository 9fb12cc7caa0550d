// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON-RPC calls.

use serde_json::{Value, json};

use super::http::{request, send};

pub(crate) const NOBODY: &str = "00000000000000000000000000000000";

pub(crate) fn post(address: &str, body: &Value) -> Value {
    let answer = send(address, &request("POST", "/ubus", "", &body.to_string()));
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    serde_json::from_str(&answer.body).unwrap()
}

/// Calls a method and returns `result`, or `error.code`.
pub(crate) fn call(
    address: &str,
    session: &str,
    object: &str,
    method: &str,
    args: &Value,
) -> Value {
    let params = json!([session, object, method, args]);
    let answer =
        post(address, &json!({"jsonrpc": "2.0", "id": 1, "method": "call", "params": params}));
    match answer.pointer("/error/code") {
        Some(code) => code.clone(),
        None => answer["result"].clone(),
    }
}

pub(crate) fn log_in(address: &str, timeout: u32) -> String {
    log_in_as(address, "root", "fastpath", timeout)
}

pub(crate) fn log_in_as(address: &str, user: &str, password: &str, timeout: u32) -> String {
    let args = json!({"username": user, "password": password, "timeout": timeout});
    let result = call(address, NOBODY, "session", "login", &args);
    result[1]["ubus_rpc_session"].as_str().expect("who has this password may log in").to_owned()
}
