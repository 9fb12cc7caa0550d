// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `uci`, limited to named sections and to calls of our programs and recordings.

use std::time::Duration;

use serde_json::{Value as Json, json};
use ubus::{Map, Status};

use super::Delta;
use super::apply::{Applied, Apply, files_in};
use super::call::Call;
use super::edit::Edit;
use super::package::{Section, Value};
use super::store::{Store, StoreError};
use crate::reply::Answer;
use crate::session::Sessions;
use ::uci::{is_name, is_package};

/// Default time until the rollback of an unconfirmed apply.
const CONFIRM_WITHIN_S: u64 = 60;

#[derive(Debug)]
pub struct Uci {
    store: Store,
    apply: Apply,
    changed: Applied,
}

fn status(error: &StoreError) -> Status {
    match error {
        StoreError::NotFound { .. } => Status::NotFound,
        StoreError::Name { .. } => Status::InvalidArgument,
        StoreError::Syntax(_) | StoreError::Io { .. } => {
            log::error!("uci: {error}: {}", crate::errors::chain(error));
            Status::UnknownError
        }
    }
}

fn single(name: &str, value: Json) -> Map {
    Map::from_iter([(name.to_owned(), value)])
}

impl Uci {
    /// Creates the object. Uncommitted changes of a previous run are dropped.
    #[must_use]
    pub fn new(store: Store) -> Uci {
        store.forget_sessions();
        Uci { store, apply: Apply::default(), changed: Vec::new() }
    }

    /// Returns the configurations that changed since the previous call.
    pub fn take_changed(&mut self) -> Applied {
        std::mem::take(&mut self.changed)
    }

    #[must_use]
    pub fn pending_session(&self) -> Option<&str> {
        self.apply.pending().map(|pending| pending.session.as_str())
    }

    /// Time of the rollback.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.apply.pending().map(|pending| pending.until)
    }

    pub fn forget(&self, session: &str) {
        self.store.forget(session);
    }

    /// Rolls back an apply that was not confirmed in time.
    pub fn expire(&mut self, sessions: &mut Sessions, now: Duration) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            // `undo` logs errors; there is no caller to report them to.
            let _ = self.undo(sessions, now);
        }
    }

    /// Answers a call.
    ///
    /// # Errors
    /// Returns the status for the caller.
    pub fn answer(
        &mut self,
        sessions: &mut Sessions,
        (method, args): (&str, &Map),
        now: Duration,
    ) -> Answer {
        let mut call = Call { args, sessions, now };
        match method {
            "get" => self.get(&mut call),
            "add" => self.add(&mut call),
            "set" => self.set(&mut call),
            "delete" => self.delete(&mut call),
            "rename" => self.rename(&mut call),
            "order" => self.order(&mut call),
            "changes" => self.changes(&mut call),
            "revert" => self.revert(&mut call),
            "apply" => self.start(&mut call),
            "confirm" => self.confirm(&call),
            "rollback" => self.roll_back(&mut call),
            _ => Err(Status::NotSupported),
        }
    }

    fn get(&self, call: &mut Call<'_>) -> Answer {
        let config = call.need("config")?;
        call.check("read", config)?;
        let changes = self.store.changes_of(call.session());
        let package = self.store.load(config, &changes).map_err(|error| status(&error))?;
        let Some(reference) = call.text("section") else {
            let numbered = package.sections.iter().enumerate();
            let map = |(at, section): (usize, &Section)| {
                (section.name.clone(), Json::Object(describe(section, Some(at))))
            };
            return Ok(single("values", Json::Object(numbered.map(map).collect())));
        };
        // Like rpcd, return no data for a missing section or option.
        let Some(section) = package.section(reference) else { return Ok(Map::new()) };
        match call.text("option") {
            None => Ok(single("values", Json::Object(describe(section, None)))),
            Some(option) => Ok(section
                .option(option)
                .map_or_else(Map::new, |value| single("value", to_json(value)))),
        }
    }

    /// Loads a configuration for editing if the caller may write it.
    fn edit(&self, call: &mut Call<'_>) -> Result<Edit, Status> {
        let config = call.need("config")?;
        call.check("write", config)?;
        let changes = self.store.changes_of(call.session());
        self.store.load(config, &changes).map(Edit::new).map_err(|error| status(&error))
    }

    fn save(&self, call: &Call<'_>, edit: &Edit) -> Result<(), Status> {
        let changes = self.store.changes_of(call.session());
        let saved = self.store.save(&edit.package.name, &changes, &edit.deltas);
        saved.map_err(|error| status(&error))
    }

    fn add(&self, call: &mut Call<'_>) -> Answer {
        call.need("config")?;
        let (kind, name) = (call.need("type")?, call.text("name"));
        let mut edit = self.edit(call)?;
        if !is_package(kind) || name.is_some_and(|name| !is_name(name)) {
            return Err(Status::InvalidArgument);
        }
        let section = edit.add_section(kind, name);
        if let Some(values) = call.table("values") {
            edit.fill(&section, values)?;
        }
        self.save(call, &edit)?;
        Ok(single("section", json!(section)))
    }

    fn set(&self, call: &mut Call<'_>) -> Answer {
        call.need("config")?;
        let values = call.table("values").ok_or(Status::InvalidArgument)?;
        let section = call.need("section")?;
        let mut edit = self.edit(call)?;
        edit.merge(section, values)?;
        self.save(call, &edit)?;
        Ok(Map::new())
    }

    fn delete(&self, call: &mut Call<'_>) -> Answer {
        call.need("config")?;
        let section = call.need("section")?;
        let mut edit = self.edit(call)?;
        edit.delete(section, call.text("option"))?;
        self.save(call, &edit)?;
        Ok(Map::new())
    }

    fn rename(&self, call: &mut Call<'_>) -> Answer {
        call.need("config")?;
        let (section, name) = (call.need("section")?, call.need("name")?);
        let mut edit = self.edit(call)?;
        if !is_name(name) {
            return Err(Status::InvalidArgument);
        }
        edit.rename(section, name)?;
        self.save(call, &edit)?;
        Ok(Map::new())
    }

    fn order(&self, call: &mut Call<'_>) -> Answer {
        call.need("config")?;
        let sections = call.args.get("sections").and_then(Json::as_array);
        let sections = sections.ok_or(Status::InvalidArgument)?;
        let mut edit = self.edit(call)?;
        edit.order(sections)?;
        self.save(call, &edit)?;
        Ok(Map::new())
    }

    fn changes(&self, call: &mut Call<'_>) -> Answer {
        let folder = self.store.changes_of(call.session());
        let of = |config: &str| {
            let deltas = self.store.deltas(config, &folder).map_err(|error| status(&error))?;
            Ok(deltas.iter().map(change).collect::<Vec<Json>>())
        };
        if let Some(config) = call.text("config") {
            call.check("read", config)?;
            self.store.load(config, &folder).map_err(|error| status(&error))?;
            return Ok(single("changes", Json::Array(of(config)?)));
        }
        let mut all = Map::new();
        for config in self.store.configs().map_err(|error| status(&error))? {
            let changes = if call.may("read", &config) { of(&config)? } else { Vec::new() };
            if !changes.is_empty() {
                all.insert(config, Json::Array(changes));
            }
        }
        Ok(single("changes", Json::Object(all)))
    }

    fn revert(&self, call: &mut Call<'_>) -> Answer {
        if self.apply.pending().is_some() {
            return Err(Status::PermissionDenied);
        }
        let config = call.need("config")?;
        call.check("write", config)?;
        let changes = self.store.changes_of(call.session());
        let outcome = self.store.load(config, &changes);
        outcome
            .and_then(|_| self.store.revert(config, &changes))
            .map_err(|error| status(&error))?;
        Ok(Map::new())
    }

    fn start(&mut self, call: &mut Call<'_>) -> Answer {
        let keep = call.args.get("rollback").and_then(Json::as_bool).unwrap_or(false);
        if self.apply.pending().is_some() {
            // Like rpcd, ignore an apply without rollback while another is pending.
            return if keep { Err(Status::PermissionDenied) } else { Ok(Map::new()) };
        }
        let session = call.session().ok_or(Status::InvalidArgument)?;
        let within = call.args.get("timeout").and_then(Json::as_u64).unwrap_or(CONFIRM_WITHIN_S);
        let configs = files_in(&self.store.changes_of(Some(session)));
        if configs.is_empty() {
            return Err(Status::NoData);
        }
        for config in &configs {
            call.check("write", config)?;
        }
        let undo_at = keep.then(|| call.now + Duration::from_secs(within));
        let changed = self.apply.start(&self.store, session, undo_at);
        self.changed.extend(changed.map_err(|error| status(&error))?);
        Ok(Map::new())
    }

    /// Fails unless the caller's session started the pending apply.
    fn own_apply(&self, call: &Call<'_>) -> Result<(), Status> {
        let session = call.session().ok_or(Status::InvalidArgument)?;
        let pending = self.apply.pending().ok_or(Status::NoData)?;
        if pending.session == session { Ok(()) } else { Err(Status::PermissionDenied) }
    }

    fn confirm(&mut self, call: &Call<'_>) -> Answer {
        self.own_apply(call)?;
        self.apply.confirm(&self.store);
        Ok(Map::new())
    }

    fn roll_back(&mut self, call: &mut Call<'_>) -> Answer {
        self.own_apply(call)?;
        self.undo(call.sessions, call.now)
    }

    fn undo(&mut self, sessions: &mut Sessions, now: Duration) -> Answer {
        let Some(pending) = self.apply.pending() else { return Ok(Map::new()) };
        let session = pending.session.clone();
        let configs = files_in(&self.store.run.join("snapshot-files"));
        let keeps = configs.iter().all(|name| sessions.allow(&session, "uci", name, "write", now));
        let changed = self.apply.roll_back(&self.store, keeps);
        self.changed.extend(changed.map_err(|error| status(&error))?);
        Ok(Map::new())
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::List(values) => json!(values),
    }
}

fn describe(section: &Section, index: Option<usize>) -> Map {
    let mut map = Map::new();
    map.insert(".anonymous".to_owned(), json!(section.anonymous));
    map.insert(".type".to_owned(), json!(section.kind));
    map.insert(".name".to_owned(), json!(section.name));
    if let Some(index) = index {
        map.insert(".index".to_owned(), json!(index));
    }
    map.extend(section.options.iter().map(|(name, value)| (name.clone(), to_json(value))));
    map
}

/// Formats a change as in `uci changes`.
fn change(delta: &Delta) -> Json {
    let mut words = vec![json!(delta.command.word()), json!(delta.section)];
    words.extend(delta.option.as_ref().map(|option| json!(option)));
    if let Some(value) = &delta.value {
        match delta.command {
            super::Command::Order => words.push(json!(value.parse::<u32>().unwrap_or(0))),
            _ => words.push(json!(value)),
        }
    }
    Json::Array(words)
}
