// SPDX-License-Identifier: GPL-2.0-or-later
//! REST forms of `/ubus`: `list`, `call/OBJECT`, `subscribe/OBJECT`.

use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use ubus::{Map, Status};

use super::body::{self, Payload};
use super::gateway::Gateway;
use super::rpc::{self, Fault};

/// Maximum queued events per subscriber. Later ones are dropped; every event has the complete
/// state.
const BACKLOG: usize = 16;
const EACCES: i32 = 13;

fn error_response(code: i64, message: &str) -> Response<Payload> {
    body::json(json!({"code": code, "message": message}).to_string())
}

fn status_response(status: Status) -> Response<Payload> {
    error_response(status.code().into(), &status.to_string())
}

/// Answers `GET /ubus/list` and `GET /ubus/list/OBJECT`.
pub(crate) async fn list(gateway: &Gateway, object: Option<&str>) -> Response<Payload> {
    let found = match gateway.list(object.unwrap_or("*")).await {
        Ok(found) => found,
        Err(error) => {
            let mut response = status_response(error.status());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return response;
        }
    };
    let map: Map = match object {
        None => {
            let entry = |entry: &ubus::Entry| (entry.path.clone(), rpc::signature(entry).into());
            found.iter().map(entry).collect()
        }
        Some(_) => found.iter().flat_map(rpc::signature).collect(),
    };
    body::json(Value::Object(map).to_string())
}

/// Answers `POST /ubus/call/OBJECT`; the JSON-RPC method in the body is the object's method.
pub(crate) async fn call(gateway: &Gateway, session: &str, object: &str, body: &[u8]) -> String {
    let Ok(request @ Value::Object(_)) = serde_json::from_slice(body) else {
        return rpc::fault(&Value::Null, Fault::Parse).to_string();
    };
    let Some(function) = rpc::method(&request) else {
        return rpc::fault(&request, Fault::Parse).to_string();
    };
    let args = request.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
    let answer = match rpc::invoke(gateway, session, object, function, &args).await {
        Err(fault) => rpc::fault(&request, fault),
        Ok(Ok(map)) if map.is_empty() => rpc::reply(&request, "result", Value::Null),
        Ok(Ok(map)) => rpc::reply(&request, "result", Value::Object(map)),
        Ok(Err(status)) => {
            let error = json!({"code": status.code(), "message": status.to_string()});
            rpc::reply(&request, "error", error)
        }
    };
    answer.to_string()
}

/// Answers `GET /ubus/subscribe/OBJECT` with an event stream of its notifications.
pub(crate) async fn subscribe(gateway: &Gateway, session: &str, object: &str) -> Response<Payload> {
    if !gateway.allows(session, object, ":subscribe").await {
        return error_response((-EACCES).into(), "Permission denied");
    }
    let mut notifications = match gateway.subscribe(object).await {
        Ok(notifications) => notifications,
        Err(status) => return status_response(status),
    };
    let (sender, chunks) = mpsc::channel(BACKLOG);
    tokio::task::spawn_local(async move {
        loop {
            let (name, data) = tokio::select! {
                () = sender.closed() => return,
                next = notifications.next() => match next {
                    Some(next) => next,
                    None => return,
                },
            };
            let text = format!("event: {name}\ndata: {}\n\n", Value::Object(data));
            if let Err(mpsc::error::TrySendError::Closed(_)) = sender.try_send(Bytes::from(text)) {
                return;
            }
        }
    });
    body::events(chunks)
}
