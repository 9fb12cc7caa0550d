// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods of `fastpath.change`. Arguments and answers are specified in `schema/change`.

use plugin::{Bus, Call, CallReason, Map, Object, Refusal, map, method};
use serde_json::{Value, json};

use crate::administrator;
use crate::caller::Caller;
use crate::cuts::Cut;
use crate::diff;
use crate::draft::Draft;
use crate::edit::{CONFIGS, Edit, Undone, read_edits};
use crate::exposes::{self, NewExposure};
use crate::force::{self, InUse, Seen};
use crate::problem::Problem;
use crate::reason::ChangeReason;
use crate::record::{Record, State};
use crate::secret::{masked, masked_section};
use crate::transaction::{ChangeRequest, Changes, Waiting};
use crate::uci::{Broken, Uci};
use crate::undo::{Undo, inverse};
use crate::validate;
use crate::zone_access;
use ::uci::{Package, Packages, Setting};

/// Default time to confirm, in seconds.
const DEFAULT_SECONDS: u64 = 30;
/// Limits of the time to confirm, in seconds.
const MIN_SECONDS: u64 = 5;
const MAX_SECONDS: u64 = 600;
/// Maximum length of a note, in characters.
const MAX_NOTE_LEN: usize = 200;
/// Files that refer to each other and are therefore validated together.
const LINKED_CONFIGS: &[&str] = &["dhcp", "firewall", "network", "wireless"];

pub static OBJECT: Object = Object {
    name: "fastpath.change",
    methods: &[
        method!("get", get, "configs": List),
        method!("check", check, "edits": List, "via": Text),
        method!("apply", apply, "edits": List, "via": Text, "seconds": Number, "cut_ok": Flag,
            "accept_exposure": List, "end_connections": Flag, "note": Text),
        method!("confirm", confirm, "id": Number),
        method!("revert", revert, "id": Number),
        method!("pending", waiting),
        method!("list", list),
        method!("undo", undo, "id": Number, "since": Flag),
    ],
};

/// A checked list of edits.
struct Judged {
    edits: Vec<Edit>,
    draft: Draft,
    problems: Vec<Problem>,
    cuts: Vec<Cut>,
    exposes: Vec<NewExposure>,
}

/// Returns files without secrets, and the files that cannot be read.
async fn get(call: &Call) -> Result<Map, Refusal> {
    let asked = call.list("configs")?.ok_or_else(|| missing("configs"))?;
    let mut wanted: Vec<&str> = Vec::new();
    for config in asked {
        let known = config.as_str().filter(|config| CONFIGS.contains(config));
        wanted.push(known.ok_or_else(|| invalid("configs", config))?);
    }
    let (packages, broken) = readable(&call.bus, &wanted).await?;
    let shown = |package: &Package| {
        let sections = package.sections.iter();
        let section = |section| {
            let mut value = json!(masked_section(section));
            value["label"] = json!(diff::label(package, section));
            value
        };
        Value::Array(sections.map(section).collect())
    };
    let configs: Map =
        packages.iter().map(|(name, package)| (name.clone(), shown(package))).collect();
    let broken = broken.iter().map(Broken::answer).collect();
    Ok(map([("configs", Value::Object(configs)), ("broken", broken)]))
}

/// Checks a draft. Requires the right to write, because programs that run as root read the draft.
async fn check(call: &Call) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    let judged = judge(call, &caller).await?;
    Ok(map([
        ("problems", json!(judged.problems)),
        ("diff", json!(diff::lines(&judged.draft))),
        ("cuts", json!(judged.cuts)),
        ("exposes", json!(judged.exposes)),
        ("access", json!(zone_access::access(&judged.draft))),
    ]))
}

/// Applies a change that waits for its confirmation. Other objects call this function with a
/// [`Call`] that has the arguments of the method and the caller's session.
pub async fn apply(call: &Call) -> Result<Map, Refusal> {
    let seconds = call.number_in("seconds", MIN_SECONDS..=MAX_SECONDS)?.unwrap_or(DEFAULT_SECONDS);
    let note = note(call.text("note")?.unwrap_or_default())?;
    let cut_ok = call.flag("cut_ok")?;
    let end_connections = call.flag("end_connections")?;
    let accepted = accepted(call)?;
    let caller = Caller::of(&call.bus, call.session()).await?;
    let changes = Changes::open(&call.bus)?;
    changes.refuse_if_pending().await?;
    let Judged { edits, draft, problems, cuts, exposes } = judge(call, &caller).await?;
    if !problems.is_empty() {
        let reason = ChangeReason::Invalid { problem: problems[0].text.clone() };
        return Err(Refusal::new("invalid", reason).with("problems", json!(problems)));
    }
    if draft.touched().is_empty() {
        return Err(Refusal::new("unchanged", ChangeReason::Unchanged));
    }
    if !cuts.is_empty() && !cut_ok {
        let reason = ChangeReason::Cuts { cut: cuts[0].text.clone() };
        return Err(Refusal::new("cuts", reason).with("cuts", json!(cuts)));
    }
    if let Some(new) = exposes.iter().find(|of| !accepted.contains(&&*of.zone)) {
        let (opening, zone) = (new.text.clone(), new.zone.escape_debug().to_string());
        let reason = ChangeReason::Exposes { opening, zone };
        return Err(Refusal::new("exposes", reason).with("exposes", json!(exposes)));
    }
    let request = ChangeRequest { edits, draft, seconds, note, end_connections };
    let pending = changes.apply(&caller, request).await?;
    Ok(map([
        ("id", json!(pending.head.id)),
        ("seconds", json!(seconds)),
        ("until_ms", json!(pending.head.at_ms + seconds * 1000)),
    ]))
}

/// Returns the zones whose exposure the caller accepts.
fn accepted(call: &Call) -> Result<Vec<&str>, Refusal> {
    let mut zones = Vec::new();
    for zone in call.list("accept_exposure")?.into_iter().flatten() {
        zones.push(zone.as_str().ok_or_else(|| invalid("accept_exposure", zone))?);
    }
    Ok(zones)
}

async fn confirm(call: &Call) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    let id = id(call)?;
    Changes::open(&call.bus)?.confirm(&caller, id).await?;
    Ok(ended(id, State::Confirmed))
}

async fn revert(call: &Call) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    let id = id(call)?;
    Changes::open(&call.bus)?.revert(&caller, id).await?;
    Ok(ended(id, State::Reverted))
}

/// Builds the answer about an ended change. uhttpd treats an empty answer as missing.
fn ended(id: u64, state: State) -> Map {
    map([("id", json!(id)), ("state", json!(state))])
}

/// Returns the pending change and the change that ended last.
async fn waiting(call: &Call) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    let changes = Changes::open(&call.bus)?;
    let waiting = changes.waiting().await?;
    let newest = changes.store.newest()?;
    drop(changes);
    let pending = match waiting {
        Some(waiting) => {
            let seen = Seen::of(&call.bus, &waiting.pending.draft).await;
            Value::Object(pending(&waiting, &caller, &seen))
        }
        None => Value::Null,
    };
    let last = newest
        .map_or(Value::Null, |record| record.head.answer([("state", json!(record.state))]).into());
    Ok(map([("pending", pending), ("last", last)]))
}

async fn list(call: &Call) -> Result<Map, Refusal> {
    Caller::of(&call.bus, call.session()).await?;
    let changes = Changes::open(&call.bus)?;
    changes.waiting().await?;
    let records = changes.store.records()?;
    drop(changes);
    let mut configs: Vec<&str> = Vec::new();
    for config in records.iter().flat_map(|record| record.draft.touched()) {
        if !configs.contains(&config) {
            configs.push(config);
        }
    }
    let (now, broken) =
        if configs.is_empty() { Default::default() } else { readable(&call.bus, &configs).await? };
    let is_broken = |config: &&str| broken.iter().any(|of| of.config == **config);
    let mut undo = Some(Undo::new(now.clone()));
    let mut entries = Vec::new();
    for record in &records {
        let kept = record.state == State::Confirmed;
        let readable = !record.draft.touched().iter().any(is_broken);
        if kept && undo.as_mut().is_some_and(|undo| !readable || undo.add(&record.draft).is_err()) {
            // Older changes cannot be undone with all later ones either.
            undo = None;
        }
        entries.push(shown(record, readable.then_some(&now), undo.is_some()));
    }
    Ok(map([("changes", json!(entries))]))
}

fn pending(waiting: &Waiting, caller: &Caller, seen: &Seen) -> Map {
    let Waiting { pending, left_ms, .. } = waiting;
    let in_force = force::in_force(&pending.draft, pending.head.at_ms, seen);
    let refused = force::in_use(&pending.draft, seen) == InUse::Refused;
    let problems = if refused { seen.problems() } else { &[] };
    pending.head.answer([
        ("seconds", json!(pending.seconds)),
        ("left_s", json!(left_ms.div_ceil(1000))),
        ("in_force", json!(in_force)),
        ("problems", json!(problems)),
        ("mine", json!(caller.is(&pending.head.user))),
        ("diff", json!(diff::lines(&pending.draft))),
    ])
}

/// Returns an entry of the list. `now` has the current files if they can be read. `together` is
/// true if this change can be undone with all later ones.
fn shown(record: &Record, now: Option<&Packages>, together: bool) -> Value {
    let kept = record.state == State::Confirmed;
    let undoable = kept && now.is_some_and(|now| inverse(&record.draft, now).is_ok());
    let answer = record.head.answer([
        ("state", json!(record.state)),
        ("diff", json!(diff::lines(&record.draft))),
        ("undoable", json!(undoable)),
        ("undoable_since", json!(kept && together)),
    ]);
    answer.into()
}

/// Returns the edits that undo a change. Masks secrets, which [`filled`] restores.
async fn undo(call: &Call) -> Result<Map, Refusal> {
    let undone = Undone { id: id(call)?, since: call.flag("since")? };
    let edits = undo_edits(call, undone).await?;
    let mut configs: Vec<&str> = edits.iter().map(|edit| &*edit.config).collect();
    config::sort::values(&mut configs);
    configs.dedup();
    let now = read(&call.bus, &configs).await?;
    let value = |edit: &Edit| {
        let kind = edit.kind(now.get(&edit.config));
        edit.value(&|option: &str, setting: &Setting| {
            // Mask a URL with a password as a whole, because its parts could not be joined again.
            let hidden = masked(kind, option, setting) != *setting;
            if hidden { json!(undone.mask()) } else { json!(setting) }
        })
    };
    Ok(map([("edits", edits.iter().map(value).collect())]))
}

async fn undo_edits(call: &Call, Undone { id, since }: Undone) -> Result<Vec<Edit>, Refusal> {
    let record = crate::store().record(id)?;
    let gone = || Refusal::new("gone", ChangeReason::NoChange { id });
    let record = record.ok_or_else(gone)?;
    if record.state != State::Confirmed {
        let reason = ChangeReason::NothingToUndo { id };
        return Err(Refusal::new("gone", reason).with("state", json!(record.state)));
    }
    // Newest first. Changes that were rolled back have no effect to undo.
    let mut records = if since { crate::store().records()? } else { vec![record] };
    records.retain(|of| of.head.id >= id && of.state == State::Confirmed);
    let mut configs: Vec<&str> = records.iter().flat_map(|of| of.draft.touched()).collect();
    config::sort::values(&mut configs);
    configs.dedup();
    let mut undo = Undo::new(read(&call.bus, &configs).await?);
    let mut oldest = id;
    let mut add = |of: &Record| {
        oldest = of.head.id;
        undo.add(&of.draft)
    };
    let added = records.iter().try_for_each(&mut add);
    added.and_then(|()| undo.edits()).map_err(|error| {
        let reason = ChangeReason::changed(oldest, &error);
        let refusal = Refusal::new("changed", reason).with("config", json!(error.config));
        refusal.with("section", json!(error.section)).with("option", json!(error.option))
    })
}

async fn judge(call: &Call, caller: &Caller) -> Result<Judged, Refusal> {
    let edits = call.list("edits")?.ok_or_else(|| missing("edits"))?;
    let edits = read_edits(edits).map_err(|error| {
        let refusal = Refusal::new("argument", ChangeReason::from(&error));
        refusal.with("edit", json!(error.number)).with("field", json!(error.field))
    })?;
    let mut written: Vec<&str> = edits.iter().map(|edit| &*edit.config).collect();
    config::sort::values(&mut written);
    written.dedup();
    // Check rights first, because answers reveal secrets and programs read the draft as root.
    caller.may_write(&call.bus, &written).await?;
    let mut configs: Vec<String> =
        LINKED_CONFIGS.iter().chain(&written).map(|&of| of.into()).collect();
    config::sort::values(&mut configs);
    configs.dedup();
    let configs: Vec<&str> = configs.iter().map(String::as_str).collect();
    let (before, broken) = readable(&call.bus, &configs).await?;
    if let Some(broken) = broken.iter().find(|of| of.is_read_after(&written)) {
        return Err(broken.refusal());
    }
    let edits = filled(call, edits).await?;
    let draft = Draft::new(before, &edits).map_err(|error| {
        let reason = ChangeReason::Draft { fault: error.to_string() };
        Refusal::new("edit", reason.cause().around(error.cause()))
    })?;
    let problems = validate::problems(&draft, &validate::Validators::of_router());
    let via = call.text("via")?.unwrap_or_default();
    let mut administrators = administrator::administrators(via);
    let status = call.bus.call("network.wireless", "status", &Map::new()).await;
    administrator::add_access_points(&mut administrators, &status.unwrap_or_default());
    let cuts = crate::cuts::cuts(&draft, &administrators);
    let exposes = exposes::exposes(&draft, &exposes::services());
    Ok(Judged { edits, draft, problems, cuts, exposes })
}

/// Replaces the masks in the edits of `undo` with the secrets from before the undone change.
async fn filled(call: &Call, mut edits: Vec<Edit>) -> Result<Vec<Edit>, Refusal> {
    let Some(undone) = edits.iter().find_map(Edit::undone) else { return Ok(edits) };
    let known = undo_edits(call, undone).await?;
    // A mask of another change must not be stored as a password.
    if edits.iter_mut().all(|edit| edit.fill(undone, &known) && edit.undone().is_none()) {
        return Ok(edits);
    }
    let id = undone.id;
    Err(Refusal::new("argument", ChangeReason::OtherEdits { id }).with("id", json!(id)))
}

async fn read(bus: &Bus, configs: &[&str]) -> Result<Packages, Refusal> {
    let (packages, broken) = readable(bus, configs).await?;
    broken.first().map_or(Ok(packages), |broken| Err(broken.refusal()))
}

async fn readable(bus: &Bus, configs: &[&str]) -> Result<(Packages, Vec<Broken>), Refusal> {
    let uci = Uci::reader(bus, configs).await?;
    let packages = uci.readable(configs).await;
    uci.close().await;
    packages
}

fn id(call: &Call) -> Result<u64, Refusal> {
    call.number("id")?.ok_or_else(|| missing("id"))
}

pub(crate) fn missing(argument: &'static str) -> Refusal {
    Refusal::new("argument", CallReason::Missing { argument }).with("argument", json!(argument))
}

pub(crate) fn invalid(argument: &'static str, value: &Value) -> Refusal {
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let refusal = Refusal::new("argument", CallReason::value(argument, &shown));
    refusal.with("argument", json!(argument))
}

/// Checks the length of a note, and removes its control characters.
fn note(text: &str) -> Result<String, Refusal> {
    if text.chars().count() > MAX_NOTE_LEN {
        return Err(invalid("note", &json!(text)));
    }
    Ok(text.chars().filter(|c| !c.is_control()).collect())
}
