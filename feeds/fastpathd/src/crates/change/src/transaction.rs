// SPDX-License-Identifier: GPL-2.0-or-later
//! A change from its first edit to its end.

use std::collections::BTreeMap;

use plugin::{Bus, BusError, Refusal, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::caller::Caller;
use crate::clock;
use crate::draft::Draft;
use crate::edit::Edit;
use crate::log;
use crate::record::{Head, Pending, Running, State};
use crate::store::{Lock, Store, StoreError};
use crate::uci::Uci;
use crate::watch;

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::new("failed", error.to_string())
    }
}

/// What is to be applied.
pub(crate) struct Order {
    /// The edits.
    pub(crate) edits: Vec<Edit>,
    /// What they make of the configuration.
    pub(crate) draft: Draft,
    /// Time to confirm, seconds.
    pub(crate) seconds: u64,
    /// What the administrator says of it.
    pub(crate) note: String,
}

/// A change that waits, and for how long yet.
pub(crate) struct Waiting {
    pub(crate) pending: Pending,
    pub(crate) running: Running,
    pub(crate) left_ms: u64,
}

/// The changes of this router, while the lock is held.
pub(crate) struct Changes<'a> {
    pub(crate) bus: &'a Bus,
    pub(crate) store: Store,
    _lock: Lock,
}

impl<'a> Changes<'a> {
    /// Waits for other calls to end.
    pub(crate) fn open(bus: &'a Bus) -> Result<Self, Refusal> {
        let store = crate::store();
        let busy = || {
            Refusal::new(
                "busy",
                "another call is changing the configuration; try again in a moment",
            )
        };
        let lock = store.lock()?.ok_or_else(busy)?;
        Ok(Self { bus, store, _lock: lock })
    }

    /// The change that waits. One whose time is over, or which never came to be applied, is
    /// ended here.
    pub(crate) async fn waiting(&self) -> Result<Option<Waiting>, Refusal> {
        let Some(pending) = self.store.pending()? else { return Ok(None) };
        let running = self.store.running()?.filter(|running| running.id == pending.head.id);
        let Some(running) = running else {
            self.end(pending, None, State::Reverted).await?;
            return Ok(None);
        };
        let left_ms = running.until_up_ms.saturating_sub(clock::up_ms());
        if left_ms > 0 {
            return Ok(Some(Waiting { pending, running, left_ms }));
        }
        self.end(pending, Some(running), State::Expired).await?;
        Ok(None)
    }

    /// Refuses while a change waits, with who and since when.
    pub(crate) async fn nobody_waits(&self) -> Result<(), Refusal> {
        let Some(Waiting { pending, left_ms, .. }) = self.waiting().await? else { return Ok(()) };
        let Head { id, at_ms, user, .. } = pending.head;
        let left_s = left_ms.div_ceil(1000);
        let text = format!(
            "a change of '{user}' waits to be confirmed, {left_s} s at most; try again then"
        );
        let refusal = Refusal::new("pending", text).with("id", json!(id)).with("user", json!(user));
        Err(refusal.with("since_ms", json!(at_ms)).with("left_s", json!(left_s)))
    }

    /// Applies: what was is on the medium before anything is changed.
    pub(crate) async fn apply(&self, caller: &Caller, order: Order) -> Result<Pending, Refusal> {
        let configs: Vec<String> = order.draft.touched().into_iter().map(str::to_owned).collect();
        let configs: Vec<&str> = configs.iter().map(String::as_str).collect();
        let uci = Uci::writer(self.bus, &configs, order.seconds).await?;
        let Order { edits, draft, seconds, note } = order;
        let head = Head {
            id: self.store.next_id()?,
            at_ms: clock::now_ms(),
            user: caller.user.clone(),
            note,
        };
        let files = self.files(&configs)?;
        let pending = Pending { head, seconds, draft, files };
        let outcome = self.put_in_force(&uci, &edits, &pending).await;
        if let Err(refusal) = outcome {
            self.store.drop_pending()?;
            uci.close().await;
            return Err(refusal);
        }
        log::note(&pending.head, &format!("applied for {seconds} s"), Some(&pending.draft));
        watch::begin();
        Ok(pending)
    }

    async fn put_in_force(
        &self,
        uci: &Uci,
        edits: &[Edit],
        pending: &Pending,
    ) -> Result<(), Refusal> {
        uci.stage(edits).await?;
        let configs: Vec<&str> = pending.files.keys().map(String::as_str).collect();
        let staged = uci.packages(&configs).await?;
        for config in &configs {
            let wanted = pending.draft.after.get(*config);
            if !staged.get(*config).zip(wanted).is_some_and(|(is, wanted)| is.says(wanted)) {
                let text = format!(
                    "staging the change of {config}: it became something else, so nothing was \
                     applied; load the page again"
                );
                return Err(Refusal::new("failed", text));
            }
        }
        self.store.set_pending(pending)?;
        let mut running = Running {
            id: pending.head.id,
            session: uci.session.clone(),
            until_up_ms: clock::up_ms() + pending.seconds * 1000,
            applied: BTreeMap::new(),
        };
        self.store.set_running(&running)?;
        uci.apply(pending.seconds).await.map_err(|error| not_applied(&error))?;
        running.applied = self.files(&configs)?;
        self.store.set_running(&running)?;
        Ok(())
    }

    fn files(&self, configs: &[&str]) -> Result<BTreeMap<String, String>, Refusal> {
        let mut files = BTreeMap::new();
        for config in configs {
            let text = self.store.config(config)?.unwrap_or_default();
            let text = String::from_utf8(text).map_err(|_| {
                let text = format!("reading /etc/config/{config}: it is no UTF-8; mend it by hand");
                Refusal::new("failed", text)
            })?;
            files.insert((*config).to_owned(), text);
        }
        Ok(files)
    }

    /// Keeps the change that waits.
    pub(crate) async fn confirm(&self, caller: &Caller, id: u64) -> Result<(), Refusal> {
        let Waiting { pending, running, .. } = self.the_one(id).await?;
        if !caller.is(&pending.head.user) {
            let user = &pending.head.user;
            let text = format!("confirming change {id}: only '{user}', who applied it, can");
            return Err(Refusal::new("denied", text).with("user", json!(user)));
        }
        self.allowed(caller, &pending).await?;
        let uci = Uci::of(self.bus, &running.session);
        match uci.confirm().await {
            Ok(()) => {}
            Err(error) if matches!(error.status(), Status::NoData | Status::PermissionDenied) => {
                self.end(pending, Some(running), State::Expired).await?;
                return Err(too_late(id, State::Expired));
            }
            Err(error) => return Err(error.into()),
        }
        self.flush(&pending);
        let record = pending.ended(State::Confirmed);
        self.store.remember(&record);
        self.store.drop_pending()?;
        uci.close().await;
        log::note(&record.head, "confirmed", None);
        Ok(())
    }

    /// Takes the change that waits back now.
    pub(crate) async fn revert(&self, caller: &Caller, id: u64) -> Result<(), Refusal> {
        let Waiting { pending, running, .. } = self.the_one(id).await?;
        self.allowed(caller, &pending).await?;
        self.end(pending, Some(running), State::Reverted).await
    }

    async fn allowed(&self, caller: &Caller, pending: &Pending) -> Result<(), Refusal> {
        let configs: Vec<&str> = pending.files.keys().map(String::as_str).collect();
        caller.may_write(self.bus, &configs).await
    }

    async fn the_one(&self, id: u64) -> Result<Waiting, Refusal> {
        if let Some(waiting) = self.waiting().await?.filter(|of| of.pending.head.id == id) {
            return Ok(waiting);
        }
        Err(match self.store.record(id)? {
            Some(record) => too_late(id, record.state),
            None => Refusal::new("gone", format!("there is no change {id} (any more)")),
        })
    }

    /// Takes a change back and notes how it ended. rpcd has the old files as well, unless it was
    /// started anew meanwhile.
    async fn end(
        &self,
        pending: Pending,
        running: Option<Running>,
        state: State,
    ) -> Result<(), Refusal> {
        if let Some(running) = &running {
            Uci::of(self.bus, &running.session).roll_back().await?;
        }
        let applied = running.as_ref().map(|running| &running.applied);
        for config in restore(&self.store, &pending, applied)? {
            self.tell(&config).await;
        }
        self.flush(&pending);
        let record = pending.ended(state);
        self.store.remember(&record);
        self.store.drop_pending()?;
        if let Some(running) = running {
            Uci::of(self.bus, &running.session).close().await;
        }
        log::note(&record.head, &format!("{}; the old configuration is back", state.word()), None);
        Ok(())
    }

    /// Has the files on disk before the change is noted as ended: the next boot leaves them as they
    /// are then. What rpcd writes may not be there yet.
    fn flush(&self, pending: &Pending) {
        if let Err(error) = self.store.flush_configs(pending.files.keys().map(String::as_str)) {
            // Only a power cut in the next seconds would show it.
            log::say(&format!("change {}: {error}", pending.head.id));
        }
    }

    /// What rpcd tells procd when it has written a file.
    async fn tell(&self, config: &str) {
        let data = json!({"package": config});
        let event = map([("type", json!("config.change")), ("data", data)]);
        let _ = self.bus.call("service", "event", &event).await;
    }
}

/// Writes the old files where they are not there yet; says which. What somebody wrote after the
/// change was taken back is left alone: only what the change itself wrote is replaced.
pub(crate) fn restore(
    store: &Store,
    pending: &Pending,
    applied: Option<&BTreeMap<String, String>>,
) -> Result<Vec<String>, StoreError> {
    let mut restored = Vec::new();
    for (config, old) in &pending.files {
        let now = store.config(config)?.unwrap_or_default();
        let ours = applied.and_then(|applied| applied.get(config));
        if now != old.as_bytes() && ours.is_none_or(|ours| now == ours.as_bytes()) {
            store.set_config(config, old.as_bytes())?;
            restored.push(config.clone());
        }
    }
    Ok(restored)
}

fn not_applied(error: &BusError) -> Refusal {
    match error.status() {
        // rpcd has one change at a time, whoever made it.
        Status::PermissionDenied => Refusal::new(
            "pending",
            "a change made elsewhere (LuCI, uci) waits to be confirmed; try again when it is over",
        )
        .with("user", Value::Null),
        _ => Refusal::new("failed", format!("applying the change: {error}")),
    }
}

fn too_late(id: u64, state: State) -> Refusal {
    let text = match state {
        State::Confirmed => format!("change {id} is confirmed already"),
        State::Expired => {
            format!("change {id} was not confirmed in time; the old configuration is back")
        }
        _ => format!("change {id} was taken back; the old configuration is in force"),
    };
    Refusal::new("gone", text).with("state", json!(state.word()))
}
