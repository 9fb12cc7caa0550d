// SPDX-License-Identifier: GPL-2.0-or-later
//! The commands `device`, `limit`, `pause`, `resume` and `forget`, through `fastpath.device`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use ubus::{CallError, Handle};

use crate::json::{list, text};
use crate::usage::zone;

const TIMEOUT: Duration = Duration::from_secs(30);
const MORNING: u64 = 7 * 60;

#[derive(Debug, PartialEq)]
pub(crate) struct Verb {
    /// A MAC, the name of a device, or a group after an @.
    who: String,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    Set {
        option: &'static str,
        value: Value,
    },
    /// In kbit/s, to and from the device.
    Limit {
        down: u32,
        up: u32,
    },
    Pause(End),
    Resume,
    Forget,
}

#[derive(Debug, PartialEq)]
enum End {
    Never,
    /// In seconds.
    After(u64),
    /// At the next minute of the day, in local time.
    At(u64),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceError {
    #[error("{0}")]
    Call(#[from] CallError),
    #[error("{0}")]
    Refused(String),
    #[error("{number} devices have the name '{name}'; use a MAC")]
    Name { number: usize, name: String },
}

impl Verb {
    /// Parses the words of a command. `Err` has the word that it does not accept; `None` if one is
    /// missing.
    pub(crate) fn parse(command: &str, words: &[String]) -> Result<Self, Option<String>> {
        let word = |word: &str| Some(word.to_owned());
        let (who, rest) = words.split_first().ok_or(None)?;
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let what = match (command, &rest[..]) {
            ("device" | "limit", [] | [_]) => return Err(None),
            ("device", ["quota", value]) => {
                let quota_mb: u32 = value.parse().map_err(|_| word(value))?;
                What::Set { option: "quota_mb", value: json!(quota_mb) }
            }
            ("device", [option, value]) => {
                let options = ["name", "kind", "group", "inspect"];
                let option = options.into_iter().find(|known| known == option);
                let option = option.ok_or_else(|| rest.first().and_then(|first| word(first)))?;
                What::Set { option, value: json!(value) }
            }
            ("limit", [down, up]) => {
                let kbit = |text: &str| text.parse().map_err(|_| word(text));
                What::Limit { down: kbit(down)?, up: kbit(up)? }
            }
            ("pause", []) => What::Pause(End::Never),
            ("pause", ["morning"]) => What::Pause(End::At(MORNING)),
            ("pause", ["until", time]) => What::Pause(minute(time).map(End::At).ok_or(word(time))?),
            ("pause", [time]) => What::Pause(seconds(time).map(End::After).ok_or(word(time))?),
            ("resume", []) => What::Resume,
            ("forget", []) => What::Forget,
            (_, rest) => return Err(rest.first().and_then(|first| word(first))),
        };
        let of_group = matches!(what, What::Pause(_) | What::Resume);
        if who.starts_with('@') && !of_group {
            return Err(Some(who.clone()));
        }
        Ok(Self { who: who.clone(), what })
    }

    fn request(&self, now: u64, offset_s: impl Fn(u64) -> i64) -> (&'static str, Value) {
        match &self.what {
            What::Set { option, value } => ("set", json!({*option: value})),
            What::Limit { down, up } => ("limit", json!({"down": down, "up": up})),
            What::Pause(end) => {
                let until_s = match end {
                    End::Never => 0,
                    End::After(seconds) => now + seconds,
                    End::At(minute) => next(*minute, now, offset_s),
                };
                ("pause", json!({"until_s": until_s}))
            }
            What::Resume => ("resume", json!({})),
            What::Forget => ("forget", json!({})),
        }
    }

    pub(crate) async fn run(&self, bus: &Handle) -> Result<Value, DeviceError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (method, mut args) = self.request(now.as_secs(), offset_s);
        if let Some(group) = self.who.strip_prefix('@') {
            args["group"] = json!(group);
        } else if is_mac(&self.who) {
            args["mac"] = json!(self.who);
        } else {
            let answer = bus.call("fastpath", "devices", &json!({}), TIMEOUT).await?;
            args["mac"] = json!(mac_of(&Value::Object(answer), &self.who)?);
        }
        let answer = Value::Object(bus.call("fastpath.device", method, &args, TIMEOUT).await?);
        match &answer["error"] {
            Value::Null => Ok(answer),
            error => Err(DeviceError::Refused(text(error, "text").to_owned())),
        }
    }
}

pub(crate) fn show(answer: &Value) -> String {
    (if answer["changed"] == true { "saved\n" } else { "nothing to change\n" }).to_owned()
}

fn is_mac(text: &str) -> bool {
    text.len() == 17 && text.bytes().all(|byte| byte == b':' || byte.is_ascii_hexdigit())
}

fn mac_of(answer: &Value, name: &str) -> Result<String, DeviceError> {
    let found: Vec<&Value> =
        list(answer, "devices").filter(|device| text(device, "name") == name).collect();
    match found[..] {
        [device] => Ok(text(device, "mac").to_owned()),
        _ => Err(DeviceError::Name { number: found.len(), name: name.to_owned() }),
    }
}

/// Parses a duration such as `30m` or `2h`.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.parse::<u16>().ok().filter(|number| *number > 0).map(|number| u64::from(number) * unit)
}

/// Parses a time such as `21:30` into a minute of the day.
fn minute(text: &str) -> Option<u64> {
    let (hour, minute) = text.split_once(':')?;
    let (hour, minute) = (hour.parse::<u8>().ok()?, minute.parse::<u8>().ok()?);
    (hour < 24 && minute < 60).then(|| u64::from(hour) * 60 + u64::from(minute))
}

/// Returns the next Unix time at a minute of the local day. The offset may change until then.
fn next(minute: u64, now: u64, offset_s: impl Fn(u64) -> i64) -> u64 {
    let local = now.saturating_add_signed(offset_s(now));
    let today = local - local % 86_400 + minute * 60;
    let then = if today > local { today } else { today + 86_400 };
    let about = then.saturating_add_signed(-offset_s(now));
    then.saturating_add_signed(-offset_s(about))
}

/// Returns the seconds that local time is ahead of UTC at a Unix time.
fn offset_s(at: u64) -> i64 {
    zone().offset(i64::try_from(at).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_700_049_600; // 15 November 2023, 12:00 UTC

    fn parsed(line: &str) -> Result<Verb, Option<String>> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Verb::parse(&words[0], &words[1..])
    }

    fn request(line: &str) -> (&'static str, Value) {
        parsed(line).unwrap().request(NOON, |_| 3600)
    }

    #[test]
    fn converts_words_to_a_request() {
        assert_eq!(request("device tv group den"), ("set", json!({"group": "den"})));
        assert_eq!(request("limit tv 5000 0"), ("limit", json!({"down": 5000, "up": 0})));
        assert_eq!(request("device tv quota 5"), ("set", json!({"quota_mb": 5})));
        assert_eq!(request("resume @children"), ("resume", json!({})));
        assert_eq!(request("forget tv"), ("forget", json!({})));
        for (end, until) in [
            ("", 0),
            (" 30m", NOON + 1800),
            (" 2h", NOON + 7200),
            (" until 13:01", NOON + 60),
            (" until 13:00", NOON + 86_400),
            (" morning", NOON + 18 * 3600),
        ] {
            let wanted = ("pause", json!({"until_s": until}));
            assert_eq!(request(&format!("pause @children{end}")), wanted, "{end}");
        }
    }

    #[test]
    fn reports_missing_and_invalid_words() {
        for line in ["device", "device tv", "device tv name", "pause", "forget", "limit tv 5"] {
            assert_eq!(parsed(line), Err(None), "{line}");
        }
        for (line, word) in [
            ("device tv owner x", "owner"),
            ("device tv quota 5GB", "5GB"),
            ("device @children name x", "@children"),
            ("forget @children", "@children"),
            ("limit @children 5 5", "@children"),
            ("limit tv 5 5M", "5M"),
            ("pause tv 0h", "0h"),
            ("pause tv 5", "5"),
            ("pause tv é", "é"),
            ("pause tv until 24:00", "24:00"),
            ("pause tv now please", "now"),
            ("resume tv now", "now"),
        ] {
            assert_eq!(parsed(line), Err(Some(word.to_owned())), "{line}");
        }
    }

    #[test]
    fn a_local_time_follows_a_change_of_the_offset() {
        let change = NOON + 14 * 3600;
        let offset = |at| if at < change { 7200 } else { 3600 };
        assert_eq!(next(MORNING, NOON, offset), NOON + 18 * 3600);
        assert_eq!(next(15 * 60, NOON, offset), NOON + 3600);
    }

    #[test]
    fn a_name_of_two_devices_is_refused() {
        let device = |mac: &str, name: &str| json!({"mac": mac, "name": name});
        let answer = json!({"devices": [device("a", "tv"), device("b", "x"), device("c", "x")]});
        assert_eq!(mac_of(&answer, "tv").unwrap(), "a");
        let error = |name| mac_of(&answer, name).unwrap_err().to_string();
        assert_eq!(error("x"), "2 devices have the name 'x'; use a MAC");
        assert_eq!(error("y"), "0 devices have the name 'y'; use a MAC");
    }
}
