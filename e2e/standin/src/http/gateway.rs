// SPDX-License-Identifier: GPL-2.0-or-later
//! Web requests to the bus: every call is checked with `session access`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use ubus::{CallError, ConnectError, Connection, Entry, Handle, Incoming, Map, Status};

/// uhttpd's `script_timeout`.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct Gateway {
    bus: Handle,
    socket: PathBuf,
}

/// Notifications of one object, from a separate connection.
pub(crate) struct Notifications {
    connection: Connection,
}

impl Notifications {
    /// Returns the next notification; `None` if the object or the bus is gone.
    pub(crate) async fn next(&mut self) -> Option<(String, Map)> {
        loop {
            match self.connection.next().await {
                Ok(Incoming::Notification { name, data, .. }) => return Some((name, data)),
                Ok(Incoming::Unsubscribed { .. }) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

impl Gateway {
    ///
    /// # Errors
    /// Returns an error if no bus listens there.
    pub async fn open(socket: PathBuf) -> Result<Gateway, ConnectError> {
        let bus = Connection::open(&socket).await?.handle();
        Ok(Gateway { bus, socket })
    }

    pub(crate) async fn list(&self, pattern: &str) -> Result<Vec<Entry>, CallError> {
        self.bus.list(pattern).await
    }

    pub(crate) async fn exists(&self, object: &str) -> bool {
        self.bus.list(object).await.is_ok_and(|found| !found.is_empty())
    }

    /// Returns whether the session may call `function` of `object`.
    pub(crate) async fn allows(&self, session: &str, object: &str, function: &str) -> bool {
        self.may(session, "ubus", object, function).await
    }

    /// Returns whether the session has a right in `scope`.
    pub(crate) async fn may(
        &self,
        session: &str,
        scope: &str,
        object: &str,
        function: &str,
    ) -> bool {
        let args = json!({
            "scope": scope,
            "ubus_rpc_session": session,
            "object": object,
            "function": function,
        });
        let Value::Object(args) = args else { return false };
        let answer = self.bus.call("session", "access", &args, CALL_TIMEOUT).await;
        answer.is_ok_and(|answer| answer.get("access") == Some(&Value::Bool(true)))
    }

    /// Calls a method with the session as an additional argument.
    pub(crate) async fn call(
        &self,
        session: &str,
        object: &str,
        function: &str,
        mut args: Map,
    ) -> Result<Map, Status> {
        args.insert("ubus_rpc_session".to_owned(), session.into());
        self.bus.call(object, function, &args, CALL_TIMEOUT).await.map_err(|error| error.status())
    }

    pub(crate) async fn subscribe(&self, object: &str) -> Result<Notifications, Status> {
        let connection =
            Connection::open(&self.socket).await.map_err(|_| Status::ConnectionFailed)?;
        connection.handle().subscribe(object).await.map_err(|error| error.status())?;
        Ok(Notifications { connection })
    }
}
