// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON-RPC 2.0 with uhttpd's behaviour.

use serde_json::{Value, json};
use ubus::{Entry, Map, Status};

use super::gateway::Gateway;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Parse,
    Method,
    Params,
    Object,
    Access,
    Timeout,
}

impl Fault {
    fn describe(self) -> (i32, &'static str) {
        match self {
            Fault::Parse => (-32700, "Parse error"),
            Fault::Method => (-32601, "Method not found"),
            Fault::Params => (-32602, "Invalid parameters"),
            Fault::Object => (-32000, "Object not found"),
            Fault::Access => (-32002, "Access denied"),
            Fault::Timeout => (-32003, "ubus request timed out"),
        }
    }
}

pub(crate) fn reply(request: &Value, key: &str, value: Value) -> Value {
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    let mut map = Map::new();
    map.insert("jsonrpc".to_owned(), json!("2.0"));
    map.insert("id".to_owned(), id);
    map.insert(key.to_owned(), value);
    Value::Object(map)
}

pub(crate) fn fault(request: &Value, fault: Fault) -> Value {
    let (code, message) = fault.describe();
    reply(request, "error", json!({"code": code, "message": message}))
}

/// Answers the body of `POST /ubus`: one request or an array.
pub(crate) async fn answer(gateway: &Gateway, body: &[u8]) -> String {
    match serde_json::from_slice(body) {
        Ok(request @ Value::Object(_)) => one(gateway, &request).await.to_string(),
        Ok(Value::Array(requests)) => {
            let mut answers = Vec::with_capacity(requests.len());
            for request in &requests {
                answers.push(one(gateway, request).await);
            }
            Value::Array(answers).to_string()
        }
        _ => fault(&Value::Null, Fault::Parse).to_string(),
    }
}

async fn one(gateway: &Gateway, request: &Value) -> Value {
    let Some(method) = method(request) else { return fault(request, Fault::Parse) };
    let params = request.get("params");
    let outcome = match method {
        "call" => call(gateway, params).await,
        "list" => Ok(list(gateway, params).await),
        _ => Err(Fault::Method),
    };
    match outcome {
        Ok(result) => reply(request, "result", result),
        Err(error) => fault(request, error),
    }
}

/// Returns the method of a valid JSON-RPC 2.0 request.
pub(crate) fn method(request: &Value) -> Option<&str> {
    let version = request.get("jsonrpc").and_then(Value::as_str);
    request.get("method").and_then(Value::as_str).filter(|_| version == Some("2.0"))
}

/// Returns session, object, function and arguments. Like uhttpd, takes the first value of each type
/// in turn and ignores the rest.
fn call_params(params: &Value) -> Option<(&str, &str, &str, &Map)> {
    let mut values = params.as_array()?.iter();
    let session = values.by_ref().find_map(Value::as_str)?;
    let object = values.by_ref().find_map(Value::as_str)?;
    let function = values.by_ref().find_map(Value::as_str)?;
    Some((session, object, function, values.find_map(Value::as_object)?))
}

async fn call(gateway: &Gateway, params: Option<&Value>) -> Result<Value, Fault> {
    let params = params.and_then(call_params);
    let (session, object, function, args) = params.ok_or(Fault::Parse)?;
    match invoke(gateway, session, object, function, args).await? {
        Ok(map) if map.is_empty() => Ok(json!([0])),
        Ok(map) => Ok(json!([0, map])),
        Err(status) => Ok(json!([status.code()])),
    }
}

/// Calls a method if the object exists, the session has the right and the arguments are valid.
pub(crate) async fn invoke(
    gateway: &Gateway,
    session: &str,
    object: &str,
    function: &str,
    args: &Map,
) -> Result<Result<Map, Status>, Fault> {
    if !gateway.exists(object).await {
        return Err(Fault::Object);
    }
    if !gateway.allows(session, object, function).await {
        return Err(Fault::Access);
    }
    if args.contains_key("ubus_rpc_session") {
        return Err(Fault::Params);
    }
    match gateway.call(session, object, function, args.clone()).await {
        Err(Status::Timeout) => Err(Fault::Timeout),
        outcome => Ok(outcome),
    }
}

async fn list(gateway: &Gateway, params: Option<&Value>) -> Value {
    let Some(patterns) = params.and_then(Value::as_array) else {
        let all = gateway.list("*").await.unwrap_or_default();
        return all.into_iter().map(|entry| Value::from(entry.path)).collect();
    };
    let mut objects = Map::new();
    for pattern in patterns.iter().filter_map(Value::as_str) {
        for entry in gateway.list(pattern).await.unwrap_or_default() {
            let methods = signature(&entry);
            objects.insert(entry.path, Value::Object(methods));
        }
    }
    Value::Object(objects)
}

/// Returns `{method: {argument: type}}` with the names of JSON types.
pub(crate) fn signature(entry: &Entry) -> Map {
    let word = |kind: &Value| match kind.as_u64() {
        Some(1) => "array",
        Some(2) => "object",
        Some(3) => "string",
        Some(5) => "number",
        Some(7) => "boolean",
        _ => "unknown",
    };
    let arguments = |table: &Value| {
        let table = table.as_object().into_iter().flatten();
        table.map(|(name, kind)| (name.clone(), word(kind).into())).collect::<Map>()
    };
    entry.methods.iter().map(|(name, table)| (name.clone(), arguments(table).into())).collect()
}
