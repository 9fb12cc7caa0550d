// SPDX-License-Identifier: GPL-2.0-or-later
//! The object `fastpath.device`: what an owner says about a device, pauses and limits. Written to
//! `/etc/config/fastpath` at once, without a confirmation, because no verb can cut off the router.

use std::time::{SystemTime, UNIX_EPOCH};

use config::device::{INSPECT, KINDS, LIMITS, MAX_GROUP, MAX_NAME, MAX_QUOTA_MB};
use plugin::{Call, Map, Object, Refusal, map, method};
use serde_json::json;

use crate::api::{invalid, missing};
use crate::caller::Caller;
use crate::log;
use crate::reason::ChangeReason;
use crate::transaction::Changes;
use crate::uci::Broken;
use sections::{Target, Unedited, Values, edited};

mod sections;
mod ssids;

pub use ssids::free;

const CONFIG: &str = "fastpath";

pub static OBJECT: Object = Object {
    name: "fastpath.device",
    methods: &[
        method!("set", set, "mac": Text, "name": Text, "kind": Text, "group": Text,
            "inspect": Text, "quota_mb": Number),
        method!("limit", limit, "mac": Text, "down": Number, "up": Number),
        method!("pause", pause, "mac": Text, "group": Text, "until_s": Number),
        method!("resume", resume, "mac": Text, "group": Text),
        method!("forget", forget, "mac": Text),
        method!("ssids", ssids::switch, "off": List),
    ],
};

async fn set(call: &Call) -> Result<Map, Refusal> {
    let mac = mac(call)?.ok_or_else(|| missing("mac"))?;
    let mut values = Values::new();
    for (option, text) in [
        ("name", text(call, "name", |text| is_label(text, MAX_NAME))?),
        ("kind", text(call, "kind", |text| KINDS.contains(&text))?),
        ("group", group(call)?),
        ("inspect", text(call, "inspect", |text| INSPECT.contains(&text))?),
    ] {
        values.extend(text.map(|text| (option, Some(text).filter(|text| !text.is_empty()))));
    }
    if let Some(quota) = call.number("quota_mb")? {
        if quota > MAX_QUOTA_MB.into() {
            return Err(invalid("quota_mb", &json!(quota)));
        }
        values.insert("quota_mb", (quota != 0).then(|| quota.to_string()));
    }
    write(call, "set", &Target::Mac(mac), Some(&values)).await
}

async fn limit(call: &Call) -> Result<Map, Refusal> {
    let mac = mac(call)?.ok_or_else(|| missing("mac"))?;
    let mut values = Values::new();
    for (argument, option) in [("down", "limit_down"), ("up", "limit_up")] {
        let kbit = call.number(argument)?.ok_or_else(|| missing(argument))?;
        if kbit != 0 && !u32::try_from(kbit).is_ok_and(|kbit| LIMITS.contains(&kbit)) {
            return Err(invalid(argument, &json!(kbit)));
        }
        values.insert(option, (kbit != 0).then(|| kbit.to_string()));
    }
    write(call, "limit", &Target::Mac(mac), Some(&values)).await
}

async fn pause(call: &Call) -> Result<Map, Refusal> {
    let target = target(call)?;
    let until_s = call.number("until_s")?.ok_or_else(|| missing("until_s"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if until_s != 0 && until_s <= now.as_secs() {
        return Err(invalid("until_s", &json!(until_s)));
    }
    let always = (until_s == 0).then(|| "1".to_owned());
    let until = (until_s != 0).then(|| until_s.to_string());
    let values = Values::from([("paused", always), ("paused_until", until)]);
    write(call, "pause", &target, Some(&values)).await
}

async fn resume(call: &Call) -> Result<Map, Refusal> {
    let values = Values::from([("paused", None), ("paused_until", None)]);
    write(call, "resume", &target(call)?, Some(&values)).await
}

async fn forget(call: &Call) -> Result<Map, Refusal> {
    let mac = mac(call)?.ok_or_else(|| missing("mac"))?;
    write(call, "forget", &Target::Mac(mac), None).await
}

/// Sets options of the devices' sections. Without `values`, removes the sections.
async fn write(
    call: &Call,
    verb: &str,
    target: &Target,
    values: Option<&Values>,
) -> Result<Map, Refusal> {
    let caller = Caller::of(&call.bus, call.session()).await?;
    caller.may_write(&call.bus, &[CONFIG]).await?;
    let changes = Changes::open(&call.bus)?;
    changes.refuse_if_pending_on(CONFIG).await?;
    let text = changes.store.config(CONFIG)?.unwrap_or_default();
    let edited = edited(&text, target, values).map_err(|error| match error {
        Unedited::Broken(error) => Broken::at(CONFIG, error).refusal(),
        Unedited::NoGroup(group) => Refusal::new("gone", ChangeReason::NoGroup { group }),
        Unedited::Full => Refusal::new("full", ChangeReason::DevicesFull),
    })?;
    if let Some(text) = &edited {
        changes.store.set_config(CONFIG, text)?;
        changes.notify(CONFIG).await;
        log::say(&format!("{verb} {target} by {}", caller.user));
    }
    Ok(map([("changed", json!(edited.is_some()))]))
}

fn target(call: &Call) -> Result<Target, Refusal> {
    let group = group(call)?.filter(|group| !group.is_empty());
    match (mac(call)?, group) {
        (Some(mac), None) => Ok(Target::Mac(mac)),
        (None, Some(group)) => Ok(Target::Group(group)),
        (Some(_), Some(group)) => Err(invalid("group", &json!(group))),
        (None, None) => Err(missing("mac")),
    }
}

fn mac(call: &Call) -> Result<Option<String>, Refusal> {
    let Some(text) = call.text("mac")? else { return Ok(None) };
    sections::mac(text).map(Some).ok_or_else(|| invalid("mac", &json!(text)))
}

fn group(call: &Call) -> Result<Option<String>, Refusal> {
    text(call, "group", |text| is_label(text, MAX_GROUP))
}

/// Returns an argument that is empty or valid.
fn text(
    call: &Call,
    argument: &'static str,
    is_valid: impl FnOnce(&str) -> bool,
) -> Result<Option<String>, Refusal> {
    match call.text(argument)? {
        Some(text) if !text.is_empty() && !is_valid(text) => Err(invalid(argument, &json!(text))),
        text => Ok(text.map(str::to_owned)),
    }
}

fn is_label(text: &str, max: usize) -> bool {
    text.chars().count() <= max && !text.contains(char::is_control)
}
