// SPDX-License-Identifier: GPL-2.0-or-later
//! The user of an rpcd session, and the right to write UCI files. A call without a session comes
//! from root on the router.

use plugin::{Bus, Refusal, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::reason::ChangeReason;

/// Name of a caller on the router, where ubusd admits only root.
pub const LOCAL: &str = "root (local)";

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// `None` for a caller on the router.
    session: Option<String>,
    pub(crate) user: String,
}

impl Caller {
    pub(crate) async fn of(bus: &Bus, session: Option<&str>) -> Result<Self, Refusal> {
        let Some(session) = session else {
            return Ok(Self { session: None, user: LOCAL.to_owned() });
        };
        let args = map([("ubus_rpc_session", json!(session)), ("keys", json!(["username"]))]);
        let answer =
            bus.call("session", "get", &args).await.map_err(|error| match error.status() {
                Status::NotFound => Refusal::new("denied", ChangeReason::SessionEnded),
                _ => error.into(),
            })?;
        let user = answer.get("values").and_then(|values| values["username"].as_str());
        let user = user.unwrap_or("unknown").to_owned();
        Ok(Self { session: Some(session.to_owned()), user })
    }

    /// Returns whether the caller is this user, or root on the router.
    pub(crate) fn is(&self, user: &str) -> bool {
        self.session.is_none() || self.user == user
    }

    /// Refuses a caller who may not write all of these files.
    pub(crate) async fn may_write(&self, bus: &Bus, configs: &[&str]) -> Result<(), Refusal> {
        let Some(session) = &self.session else { return Ok(()) };
        for config in configs {
            let args = map([
                ("ubus_rpc_session", json!(session)),
                ("scope", json!("uci")),
                ("object", json!(config)),
                ("function", json!("write")),
            ]);
            let answer = bus.call("session", "access", &args).await?;
            if answer.get("access") != Some(&Value::Bool(true)) {
                let (config, user) = ((*config).to_owned(), self.user.clone());
                let reason = ChangeReason::NoRight { config: config.clone(), user };
                return Err(Refusal::new("denied", reason).with("config", json!(config)));
            }
        }
        Ok(())
    }
}
