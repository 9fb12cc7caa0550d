// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use ubus::Map;

use super::Grants;

/// Id of the default session, used by clients that are not logged in.
pub const NOBODY: &str = "00000000000000000000000000000000";
/// Idle timeout of a session in seconds, unless its login sets another one.
pub(super) const DEFAULT_TIMEOUT_S: i64 = 300;

#[derive(Clone, Debug, Default)]
pub struct Session {
    timeout_s: i64,
    /// Expiry time of the idle session; `None` for never.
    ends: Option<Duration>,
    pub grants: Grants,
    /// Values that clients have stored in the session.
    pub data: BTreeMap<String, Value>,
}

impl Session {
    fn touch(&mut self, now: Duration) {
        if let Ok(timeout @ 1..) = u64::try_from(self.timeout_s) {
            self.ends = Some(now + Duration::from_secs(timeout));
        }
    }

    /// Formats the session as `session login` and `session list` do.
    #[must_use]
    pub fn describe(&self, id: &str, now: Duration) -> Map {
        let expires = self.ends.map_or(0, |end| end.saturating_sub(now).as_secs());
        let data: Map = self.data.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut map = Map::new();
        map.insert("ubus_rpc_session".to_owned(), json!(id));
        map.insert("timeout".to_owned(), json!(self.timeout_s));
        map.insert("expires".to_owned(), json!(expires));
        map.insert("acls".to_owned(), Value::Object(self.grants.to_map()));
        map.insert("data".to_owned(), Value::Object(data));
        map
    }
}

/// All sessions. Times are relative to an arbitrary start.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: BTreeMap<String, Session>,
}

impl Sessions {
    /// Returns a store with only the default session.
    #[must_use]
    pub fn new(nobody: Grants) -> Sessions {
        let session = Session { grants: nobody, ..Session::default() };
        Sessions { sessions: BTreeMap::from([(NOBODY.to_owned(), session)]) }
    }

    pub fn create(&mut self, id: &str, timeout_s: i64, now: Duration) -> &mut Session {
        let session = self.sessions.entry(id.to_owned()).or_default();
        session.timeout_s = timeout_s;
        session.touch(now);
        session
    }

    /// Returns a session and restarts its idle timeout.
    pub fn get(&mut self, id: &str, now: Duration) -> Option<&mut Session> {
        let session = self.sessions.get_mut(id)?;
        session.touch(now);
        Some(session)
    }

    /// Removes a session. Returns false if it does not exist.
    pub fn destroy(&mut self, id: &str) -> bool {
        self.sessions.remove(id).is_some()
    }

    /// Removes the expired sessions and returns their ids.
    pub fn expire(&mut self, now: Duration) -> Vec<String> {
        let over = |session: &Session| session.ends.is_some_and(|end| end <= now);
        let ended = self.sessions.iter().filter(|(_, session)| over(session));
        let ended: Vec<String> = ended.map(|(id, _)| id.clone()).collect();
        self.sessions.retain(|_, session| !over(session));
        ended
    }

    pub fn allow(
        &mut self,
        id: &str,
        scope: &str,
        object: &str,
        function: &str,
        now: Duration,
    ) -> bool {
        self.get(id, now).is_some_and(|session| session.grants.allow(scope, object, function))
    }
}
