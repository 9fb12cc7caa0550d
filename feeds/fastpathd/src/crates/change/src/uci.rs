// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of rpcd's object `uci`: stages edits, applies them with a rollback timer, confirms, rolls
//! back.
//!
//! Each change uses a session of its own with rights only for the changed files. Edits that the
//! caller has staged are therefore not applied. The caller's rights are checked before.

use config::Cause;
use plugin::{Bus, BusError, Map, Refusal, Rights, UciSession, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::edit::{Edit, Op};
use crate::reason::ChangeReason;
use ::uci::{Package, Packages};

/// Time for `settle` to roll back before rpcd does, in seconds.
const SETTLE_S: u64 = 10;

/// A file that rpcd cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) config: String,
    /// First line of the faulty statement. 0 if our parser accepts the file.
    line: usize,
    cause: Cause,
}

impl Broken {
    /// Locates the fault in a file. Refuses if the error is not about the file.
    fn of(config: &str, error: &BusError) -> Result<Self, Refusal> {
        let (config, said) = (config.to_owned(), error.to_string());
        let unread = ChangeReason::Read { config: config.clone(), said };
        // rpcd reports errors of libuci with this status.
        if error.status() != Status::UnknownError {
            return Err(Refusal::new("failed", unread));
        }
        let text = crate::store().config(&config)?.unwrap_or_default();
        Ok(match config::parse_uci(&text) {
            Ok(_) => Self { config, line: 0, cause: unread.cause() },
            Err(error) => Self::at(&config, error),
        })
    }

    pub(crate) fn at(config: &str, error: ::uci::ParseError) -> Self {
        let (config, inner) = (config.to_owned(), Cause::from(error));
        let broken = ChangeReason::Broken { config: config.clone(), said: inner.text.clone() };
        Self { config, line: error.line, cause: broken.cause().around(inner) }
    }

    /// Returns whether a change of these files makes a service read the file. An interface that
    /// comes up reloads fw4, which drops all new connections without its file.
    pub(crate) fn is_read_after(&self, written: &[&str]) -> bool {
        let interfaces = written.iter().any(|of| ["network", "wireless"].contains(of));
        written.contains(&&*self.config) || (interfaces && self.config == "firewall")
    }

    pub(crate) fn refusal(&self) -> Refusal {
        let refusal = Refusal::new("broken", self.cause.clone());
        refusal.with("config", json!(self.config)).with("line", json!(self.line))
    }

    /// Returns the element of `broken` in the answer of `get`.
    pub(crate) fn answer(&self) -> Value {
        let Self { config, line, cause } = self;
        json!({"config": config, "line": line, "text": cause.text, "cause": cause})
    }
}

pub(crate) struct Uci(UciSession);

impl Uci {
    pub(crate) async fn reader(bus: &Bus, configs: &[&str]) -> Result<Self, Refusal> {
        let session = UciSession::open(bus, configs, Rights::Read, UciSession::BRIEF).await?;
        Ok(Self(session))
    }

    /// Opens a session for writing files that outlives the time to confirm.
    pub(crate) async fn writer(bus: &Bus, configs: &[&str], seconds: u64) -> Result<Self, Refusal> {
        let seconds = seconds + UciSession::BRIEF;
        Ok(Self(UciSession::open(bus, configs, Rights::Write, seconds).await?))
    }

    pub(crate) fn of(bus: &Bus, session: &str) -> Self {
        Self(UciSession::of(bus, session))
    }

    pub(crate) fn session(&self) -> &str {
        self.0.id()
    }

    async fn call(&self, method: &str, args: Map) -> Result<Map, BusError> {
        self.0.call(method, args).await
    }

    /// Returns the existing files, including staged edits. Refuses a broken file.
    pub(crate) async fn packages(&self, configs: &[&str]) -> Result<Packages, Refusal> {
        let (packages, broken) = self.readable(configs).await?;
        broken.first().map_or(Ok(packages), |broken| Err(broken.refusal()))
    }

    /// Returns the existing files, including staged edits, and the files that rpcd cannot read.
    pub(crate) async fn readable(
        &self,
        configs: &[&str],
    ) -> Result<(Packages, Vec<Broken>), Refusal> {
        let (mut packages, mut broken) = (Packages::new(), Vec::new());
        for config in configs {
            match self.0.values(config).await {
                Ok(values) => {
                    let package = values.map(|values| Package::read(&values));
                    packages.extend(package.map(|package| ((*config).to_owned(), package)));
                }
                Err(error) => broken.push(Broken::of(config, &error)?),
            }
        }
        Ok((packages, broken))
    }

    /// Stages edits for [`Self::apply`].
    pub(crate) async fn stage(&self, edits: &[Edit]) -> Result<(), Refusal> {
        let mut names = Map::new();
        for edit in edits {
            self.stage_one(edit, &mut names).await.map_err(|error| {
                let (config, said) = (edit.config.clone(), error.to_string());
                Refusal::new("failed", ChangeReason::Stage { config, said })
            })?;
        }
        Ok(())
    }

    async fn stage_one(&self, edit: &Edit, names: &mut Map) -> Result<(), BusError> {
        let real =
            |name: &String, names: &Map| names.get(name).cloned().unwrap_or_else(|| json!(name));
        let mut args = map([("config", json!(edit.config))]);
        let method = match &edit.op {
            Op::Add { kind, name, id, options } => {
                let values: Map =
                    options.iter().map(|(name, of)| (name.clone(), json!(of))).collect();
                args.insert("type".to_owned(), json!(kind));
                args.insert("values".to_owned(), Value::Object(values));
                args.extend(name.iter().map(|name| ("name".to_owned(), json!(name))));
                let answer = self.call("add", args).await?;
                let section = answer.get("section").cloned();
                names.extend(id.clone().zip(section));
                return Ok(());
            }
            Op::Set { section, values } => {
                args.insert("section".to_owned(), real(section, names));
                return self.set(args, values).await;
            }
            Op::Delete { section } => {
                args.insert("section".to_owned(), real(section, names));
                "delete"
            }
            Op::Rename { section, name } => {
                args.insert("section".to_owned(), real(section, names));
                args.insert("name".to_owned(), json!(name));
                "rename"
            }
            Op::Order { sections } => {
                let list: Vec<Value> = sections.iter().map(|name| real(name, names)).collect();
                args.insert("sections".to_owned(), json!(list));
                "order"
            }
        };
        self.call(method, args).await.map(|_| ())
    }

    async fn set(&self, args: Map, values: &crate::edit::Values) -> Result<(), BusError> {
        let mut set = Map::new();
        let mut gone: Vec<&String> = Vec::new();
        for (name, setting) in values {
            match setting {
                Some(setting) => {
                    set.insert(name.clone(), json!(setting));
                }
                None => gone.push(name),
            }
        }
        if !set.is_empty() {
            let mut args = args.clone();
            args.insert("values".to_owned(), Value::Object(set));
            self.call("set", args).await?;
        }
        for name in gone {
            let mut args = args.clone();
            args.insert("option".to_owned(), json!(name));
            // rpcd reports an already removed option or section as not found.
            match self.call("delete", args).await {
                Err(error) if error.status() != Status::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Applies the staged edits. rpcd rolls them back if `settle` has not done so in time.
    pub(crate) async fn apply(&self, seconds: u64) -> Result<(), BusError> {
        let seconds = seconds + SETTLE_S;
        let args = map([("rollback", json!(true)), ("timeout", json!(seconds))]);
        self.call("apply", args).await.map(|_| ())
    }

    pub(crate) async fn confirm(&self) -> Result<(), BusError> {
        self.call("confirm", Map::new()).await.map(|_| ())
    }

    /// Ends rpcd's wait by `confirm` or `rollback`. Succeeds if rpcd does not wait.
    pub(crate) async fn end(&self, method: &str) -> Result<(), BusError> {
        match self.call(method, Map::new()).await {
            Ok(_) => Ok(()),
            Err(error) => match error.status() {
                Status::NoData | Status::PermissionDenied | Status::NotFound => Ok(()),
                _ => Err(error),
            },
        }
    }

    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}

/// Returns whether rpcd waits for the confirmation of an apply. Confirming it with a session that
/// does not exist has no effect.
pub(crate) async fn is_rpcd_pending(bus: &Bus) -> bool {
    let confirmed = Uci::of(bus, "none").confirm().await;
    confirmed.is_err_and(|error| error.status() == Status::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_read_after_its_own_edit_and_the_firewall_after_an_interfaces() {
        let read_after = |config: &str, written: &[&str]| {
            let cause = Cause::default();
            Broken { config: config.to_owned(), line: 3, cause }.is_read_after(written)
        };
        for written in ["firewall", "network", "wireless"] {
            assert!(read_after("firewall", &["system", written]), "{written}");
        }
        assert!(!read_after("firewall", &["dhcp", "system"]));
        assert!(read_after("dhcp", &["dhcp"]));
        assert!(!read_after("dhcp", &["network", "wireless", "firewall"]));
    }
}
