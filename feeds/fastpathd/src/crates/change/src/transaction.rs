// SPDX-License-Identifier: GPL-2.0-or-later
//! A change from apply to confirm, revert or expiry. Only one change is pending at a time. The old
//! state is stored before the change is applied.

use std::collections::BTreeMap;
use std::time::Duration;

use plugin::{Bus, BusError, CallReason, Refusal, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::caller::Caller;
use crate::draft::Draft;
use crate::edit::Edit;
use crate::force::{self, InUse, Seen};
use crate::log;
use crate::reason::ChangeReason;
use crate::record::{Head, Pending, Record, Running, State};
use crate::store::{Lock, Store, StoreError};
use crate::uci::{Uci, is_rpcd_pending};
use crate::zone_pairs::zone_pairs;

/// Maximum number of polls until the daemon uses a new configuration, and their interval.
const MAX_DAEMON_POLLS: u32 = 20;
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of polls until fw4 has loaded new rules. The page waits 8 s for the answer.
const MAX_FIREWALL_POLLS: u32 = 24;

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::new("failed", CallReason::from(&error))
    }
}

/// Failure of an apply.
enum Failure {
    /// The configuration is unchanged.
    NotApplied(Refusal),
    /// rpcd reported success but did not write all files.
    Unwritten(Refusal),
    /// rpcd may have changed files, so the pending change must be kept for the rollback.
    Unknown(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::NotApplied(refusal)
    }
}

pub(crate) struct ChangeRequest {
    pub(crate) edits: Vec<Edit>,
    pub(crate) draft: Draft,
    /// Time to confirm, in seconds.
    pub(crate) seconds: u64,
    pub(crate) note: String,
    /// After the confirmation, end connections that the change may forbid.
    pub(crate) end_connections: bool,
}

pub(crate) struct Waiting {
    pub(crate) pending: Pending,
    pub(crate) running: Running,
    pub(crate) left_ms: u64,
}

impl Waiting {
    fn refusal(self) -> Refusal {
        let Head { id, at_ms, user, .. } = self.pending.head;
        let left_s = self.left_ms.div_ceil(1000);
        let reason = ChangeReason::Pending { user: user.clone(), left_s };
        let refusal = Refusal::new("pending", reason).with("id", json!(id));
        let refusal = refusal.with("user", json!(user)).with("since_ms", json!(at_ms));
        refusal.with("left_s", json!(left_s))
    }
}

/// Access to changes. Holds the lock.
pub(crate) struct Changes<'a> {
    pub(crate) bus: &'a Bus,
    pub(crate) store: Store,
    _lock: Lock,
}

impl<'a> Changes<'a> {
    /// Waits for other calls and locks the changes of this router.
    pub(crate) fn open(bus: &'a Bus) -> Result<Self, Refusal> {
        Self::of(bus, crate::store())
    }

    pub(crate) fn of(bus: &'a Bus, store: Store) -> Result<Self, Refusal> {
        let busy = || Refusal::new("busy", ChangeReason::Busy);
        let lock = store.lock()?.ok_or_else(busy)?;
        Ok(Self { bus, store, _lock: lock })
    }

    /// Returns the pending change. Ends a change that has expired or whose apply was interrupted.
    pub(crate) async fn waiting(&self) -> Result<Option<Waiting>, Refusal> {
        let Some(pending) = self.store.pending()? else { return Ok(None) };
        let running = self.store.running()?.filter(|running| running.id == pending.head.id);
        let Some(running) = running else {
            self.end(pending, None, State::Reverted).await?;
            return Ok(None);
        };
        let left_ms = running.until_up_ms.saturating_sub(self.store.host().up_ms());
        if left_ms > 0 {
            return Ok(Some(Waiting { pending, running, left_ms }));
        }
        self.end(pending, Some(running), State::Expired).await?;
        Ok(None)
    }

    /// Refuses while a change is pending. The refusal includes its user and remaining time.
    pub(crate) async fn refuse_if_pending(&self) -> Result<(), Refusal> {
        self.waiting().await?.map_or(Ok(()), |waiting| Err(waiting.refusal()))
    }

    /// Refuses while a pending change could roll back this file. rpcd does not say which files a
    /// change of others has.
    pub(crate) async fn refuse_if_pending_on(&self, config: &str) -> Result<(), Refusal> {
        match self.waiting().await? {
            Some(waiting) if waiting.pending.files.contains_key(config) => Err(waiting.refusal()),
            None if is_rpcd_pending(self.bus).await => Err(pending_elsewhere()),
            Some(_) | None => Ok(()),
        }
    }

    /// Applies a change after storing the old state.
    pub(crate) async fn apply(
        &self,
        caller: &Caller,
        request: ChangeRequest,
    ) -> Result<Pending, Refusal> {
        let configs: Vec<String> = request.draft.touched().into_iter().map(str::to_owned).collect();
        let configs: Vec<&str> = configs.iter().map(String::as_str).collect();
        let uci = Uci::writer(self.bus, &configs, request.seconds).await?;
        let ChangeRequest { edits, draft, seconds, note, end_connections } = request;
        let head = Head {
            id: self.store.next_id()?,
            at_ms: self.store.host().now_ms(),
            user: caller.user.clone(),
            note,
        };
        let files = self.store.texts(&configs)?;
        let system = self.store.system()?;
        let pending = Pending { head, seconds, draft, files, system, end_connections };
        match self.put_in_force(&uci, &edits, &pending).await {
            Ok(()) => {
                let text = format!("applied for {seconds} s");
                log::note(&pending.head, &text, Some(&pending.draft));
                self.store.host().start_settle();
                Ok(pending)
            }
            Err(Failure::NotApplied(refusal)) => {
                self.store.drop_pending()?;
                uci.close().await;
                Err(refusal)
            }
            Err(Failure::Unwritten(refusal)) => {
                let running = self.store.running()?;
                if self.end(pending, running.clone(), State::Reverted).await.is_err() {
                    // Let `settle` retry the rollback now, not after the time to confirm.
                    if let Some(running) = running {
                        self.store.set_running(&Running { until_up_ms: 0, ..running })?;
                    }
                    self.store.host().start_settle();
                }
                Err(refusal)
            }
            Err(Failure::Unknown(said)) => {
                let text = format!("perhaps applied for {seconds} s: {said}");
                log::note(&pending.head, &text, Some(&pending.draft));
                self.store.host().start_settle();
                let reason = ChangeReason::Unknown { said, seconds };
                Err(Refusal::new("failed", reason).with("id", json!(pending.head.id)))
            }
        }
    }

    async fn put_in_force(
        &self,
        uci: &Uci,
        edits: &[Edit],
        pending: &Pending,
    ) -> Result<(), Failure> {
        uci.stage(edits).await?;
        let configs: Vec<&str> = pending.files.keys().map(String::as_str).collect();
        let staged = uci.packages(&configs).await?;
        for config in &configs {
            let wanted = pending.draft.after.get(*config);
            if !staged.get(*config).zip(wanted).is_some_and(|(is, wanted)| is.says(wanted)) {
                let reason = ChangeReason::Staged { config: (*config).to_owned() };
                return Err(Refusal::new("failed", reason).into());
            }
        }
        self.store.set_pending(pending).map_err(Refusal::from)?;
        let mut running = Running {
            id: pending.head.id,
            session: uci.session().to_owned(),
            until_up_ms: self.store.host().up_ms() + pending.seconds * 1000,
            applied: BTreeMap::new(),
        };
        self.store.set_running(&running).map_err(Refusal::from)?;
        if let Err(error) = uci.apply(pending.seconds).await {
            // An unanswered call may still change the files.
            let now = self.store.texts(&configs);
            if error.is_unanswered() || now.is_ok_and(|now| now != pending.files) {
                return Err(Failure::Unknown(error.to_string()));
            }
            return Err(not_applied(&error).into());
        }
        // A rollback needs these contents to keep later edits.
        let applied = self.store.texts(&configs);
        let unwritten = applied.as_ref().ok().and_then(|applied| {
            applied.iter().find(|(config, now)| pending.files.get(*config) == Some(*now))
        });
        if let Some((config, _)) = unwritten {
            let path = format!("/etc/config/{config}");
            let said = "rpcd could not write it".to_owned();
            let reason = CallReason::File { what: "writing", path, said };
            return Err(Failure::Unwritten(Refusal::new("failed", reason)));
        }
        let noted = applied.and_then(|applied| {
            running.applied = applied;
            self.store.set_running(&running)
        });
        if let Err(error) = noted {
            log::say(&format!("change {}: {error}", pending.head.id));
        }
        Ok(())
    }

    pub(crate) async fn confirm(&self, caller: &Caller, id: u64) -> Result<(), Refusal> {
        let Waiting { pending, running, .. } = self.pending_change(id).await?;
        if !caller.is(&pending.head.user) {
            let user = pending.head.user;
            let reason = ChangeReason::NotApplicant { id, user: user.clone() };
            return Err(Refusal::new("denied", reason).with("user", json!(user)));
        }
        self.allowed(caller, &pending).await?;
        self.in_use(id, &pending).await?;
        let uci = Uci::of(self.bus, &running.session);
        match uci.confirm().await {
            Ok(()) => {}
            Err(error) if matches!(error.status(), Status::NoData | Status::PermissionDenied) => {
                self.end(pending, Some(running), State::Expired).await?;
                return Err(gone(id, State::Expired));
            }
            Err(error) => return Err(error.into()),
        }
        self.flush(&pending);
        let pairs = if pending.end_connections { zone_pairs(&pending.draft) } else { Vec::new() };
        let record = pending.ended(State::Confirmed);
        self.store.record_end(&record);
        self.store.drop_pending()?;
        uci.close().await;
        log::note(&record.head, "confirmed", None);
        if !pairs.is_empty() {
            let said = self.end_connections(&record, &pairs).await;
            log::note(&record.head, &said, None);
        }
        Ok(())
    }

    /// Ends the forwarded connections between these zones after the new rules are in force. Their
    /// next packets then have to pass the new rules.
    async fn end_connections(&self, record: &Record, pairs: &[[String; 2]]) -> String {
        let mut polls = 0;
        while polls < MAX_FIREWALL_POLLS {
            let seen = Seen::of(self.bus, &record.draft).await;
            match force::in_force(&record.draft, record.head.at_ms, &seen) {
                Some(true) => break,
                Some(false) => polls += 1,
                // The state is unknown, so do not wait.
                None => polls = MAX_FIREWALL_POLLS + 1,
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        // The old rules would accept the connections again.
        if polls == MAX_FIREWALL_POLLS {
            return "its connections are not ended: the new rules are not in force".to_owned();
        }
        match self.bus.call("fastpath", "disconnect", &map([("pairs", json!(pairs))])).await {
            Ok(answer) => format!("{} connections ended", answer["connections"]),
            Err(error) => format!("its connections are not ended: {error}"),
        }
    }

    /// Refuses if the daemon does not use the new configuration. Waits, because the daemon reads
    /// files about a second after a change.
    async fn in_use(&self, id: u64, pending: &Pending) -> Result<(), Refusal> {
        let mut polls = 0;
        loop {
            let seen = Seen::of_daemon(self.bus, &pending.draft).await;
            let reason = match force::in_use(&pending.draft, &seen) {
                InUse::Yes | InUse::Unknown => return Ok(()),
                InUse::NotYet if polls < MAX_DAEMON_POLLS => {
                    polls += 1;
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
                InUse::NotYet => ChangeReason::NotInForce { id },
                InUse::Refused => {
                    let first = seen.problems().first().map(|of| of["text"].clone());
                    let first = first.as_ref().and_then(Value::as_str).unwrap_or_default();
                    ChangeReason::Refused { id, problem: first.to_owned() }
                }
            };
            let refusal = Refusal::new("not-in-force", reason);
            return Err(refusal.with("problems", json!(seen.problems())));
        }
    }

    pub(crate) async fn revert(&self, caller: &Caller, id: u64) -> Result<(), Refusal> {
        let Waiting { pending, running, .. } = self.pending_change(id).await?;
        self.allowed(caller, &pending).await?;
        self.end(pending, Some(running), State::Reverted).await
    }

    async fn allowed(&self, caller: &Caller, pending: &Pending) -> Result<(), Refusal> {
        let configs: Vec<&str> = pending.files.keys().map(String::as_str).collect();
        caller.may_write(self.bus, &configs).await
    }

    async fn pending_change(&self, id: u64) -> Result<Waiting, Refusal> {
        if let Some(waiting) = self.waiting().await?.filter(|of| of.pending.head.id == id) {
            return Ok(waiting);
        }
        Err(match self.store.record(id)? {
            Some(record) => gone(id, record.state),
            None => Refusal::new("gone", ChangeReason::NoChange { id }),
        })
    }

    /// Rolls back a change and records its end. rpcd would copy the old files in place, and a
    /// service that reloads meanwhile would read half of one, so rpcd rolls back only what cannot
    /// be restored here: on a full disk, or edits made since. If this is interrupted, the next call
    /// repeats it.
    async fn end(
        &self,
        pending: Pending,
        running: Option<Running>,
        state: State,
    ) -> Result<(), Refusal> {
        let applied = running.as_ref().map(|running| &running.applied);
        if let Some(running) = &running {
            let uci = Uci::of(self.bus, &running.session);
            let restored = self.store.restore(&pending, applied).is_ok_and(|stay| stay.is_empty());
            uci.end(if restored { "confirm" } else { "rollback" }).await?;
        }
        self.store.roll_back(&pending, applied)?;
        for config in pending.files.keys() {
            self.notify(config).await;
        }
        self.flush(&pending);
        let record = pending.ended(state);
        self.store.record_end(&record);
        self.store.drop_pending()?;
        if let Some(running) = running {
            Uci::of(self.bus, &running.session).close().await;
        }
        log::note(&record.head, &format!("{}; old configuration restored", state.name()), None);
        Ok(())
    }

    /// Flushes the files, which rpcd may have left unflushed. Must precede the record of the end,
    /// because the next boot does not restore files of an ended change.
    fn flush(&self, pending: &Pending) {
        if let Err(error) = self.store.flush_configs(pending.files.keys().map(String::as_str)) {
            log::say(&format!("change {}: {error}", pending.head.id));
        }
    }

    /// Sends procd the event that rpcd sends after writing a file.
    pub(crate) async fn notify(&self, config: &str) {
        let data = json!({"package": config});
        let event = map([("type", json!("config.change")), ("data", data)]);
        let _ = self.bus.call("service", "event", &event).await;
    }
}

fn not_applied(error: &BusError) -> Refusal {
    match error.status() {
        // rpcd has one pending change for all clients.
        Status::PermissionDenied => pending_elsewhere(),
        _ => Refusal::new("failed", ChangeReason::Apply { said: error.to_string() }),
    }
}

fn pending_elsewhere() -> Refusal {
    Refusal::new("pending", ChangeReason::PendingElsewhere).with("user", Value::Null)
}

fn gone(id: u64, state: State) -> Refusal {
    Refusal::new("gone", ChangeReason::ended(id, state)).with("state", json!(state))
}
