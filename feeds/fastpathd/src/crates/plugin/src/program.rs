// SPDX-License-Identifier: GPL-2.0-or-later
//! The program that rpcd runs: `PROGRAM list` and `PROGRAM call METHOD`.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Deserializer, Value};

use crate::bus::Bus;
use crate::call::{Call, Origin, Refusal};
use crate::map::Map;
use crate::object::Object;
use crate::reason::CallReason;

/// Maximum bytes of the arguments, the limit of a ubus message.
const MAX_INPUT_LEN: u64 = 1 << 20;

pub type Subcommand = (&'static str, fn(&[String]) -> ExitCode);

/// Runs the program. The object's name is the file name in the first of `args`, or the next
/// argument.
#[must_use]
pub fn main(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    objects: &[&Object],
    subcommands: &[Subcommand],
) -> ExitCode {
    let mut words: Vec<String> =
        args.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let started = if words.is_empty() { String::new() } else { words.remove(0) };
    let link = Path::new(&started).file_name().unwrap_or_default().to_string_lossy();
    let named = |name: &str| objects.iter().find(|object| object.name == name);
    let object = named(&link).or_else(|| {
        let found = named(words.first()?)?;
        words.remove(0);
        Some(found)
    });
    if let Some(object) = object {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return match words[..] {
            ["list"] => print(object.signature()),
            ["call", method] => print(answer(object, method, Origin::Bus, &mut std::io::stdin())),
            ["call", method, args] => {
                print(answer(object, method, Origin::CommandLine, &mut args.as_bytes()))
            }
            _ => usage(program, objects),
        };
    }
    let named = |(name, _): &&Subcommand| words.first().is_some_and(|word| word == name);
    let subcommand = subcommands.iter().find(named);
    subcommand.map_or_else(|| usage(program, objects), |(_, run)| run(&words[1..]))
}

fn usage(program: &str, objects: &[&Object]) -> ExitCode {
    let names: Vec<&str> = objects.iter().map(|object| object.name).collect();
    let usage = format!("usage: {program} {} list | call METHOD [ARGUMENTS]\n", names.join("|"));
    let _ = std::io::stderr().write_all(usage.as_bytes());
    ExitCode::from(2)
}

/// Prints an answer. Does not panic at a closed pipe, because rpcd may have stopped waiting.
fn print(map: Map) -> ExitCode {
    match writeln!(std::io::stdout(), "{}", Value::Object(map)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer(object: &Object, method: &str, origin: Origin, input: &mut dyn Read) -> Map {
    execute(object, method, origin, input).unwrap_or_else(Refusal::answer)
}

fn execute(
    object: &Object,
    method: &str,
    origin: Origin,
    input: &mut dyn Read,
) -> Result<Map, Refusal> {
    let unknown =
        || CallReason::Method { object: object.name, method: method.escape_debug().to_string() };
    let method = object.method(method).ok_or_else(|| Refusal::new("method", unknown()))?;
    let args = arguments(input)?;
    if let Some(name) = args.keys().find(|name| !method.takes(name)) {
        let reason = CallReason::Unknown { argument: name.escape_debug().to_string() };
        return Err(Refusal::new("argument", reason).with("argument", name.as_str().into()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |error: std::io::Error| CallReason::Start { said: error.to_string() };
    let runtime = runtime.map_err(|error| Refusal::new("failed", failed(error)))?;
    let mut call = Call::new(args, Bus::from_environment());
    call.origin = origin;
    tokio::task::LocalSet::new().block_on(&runtime, (method.run)(call))
}

/// Reads one JSON object. Does not wait for end-of-file, because rpcd may leave the pipe open.
fn arguments(input: &mut dyn Read) -> Result<Map, Refusal> {
    let refused = |reason| Err(Refusal::new("argument", reason));
    let mut values = Deserializer::from_reader(input.take(MAX_INPUT_LEN)).into_iter::<Value>();
    match values.next() {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(args))) => Ok(args),
        Some(Ok(_)) => refused(CallReason::NotObject),
        Some(Err(error)) => refused(CallReason::NotJson { said: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::{Method, Sample};

    const ECHO: Object = Object {
        name: "echo",
        methods: &[Method {
            name: "say",
            args: &[("text", Sample::Text)],
            run: |call| {
                Box::pin(async move {
                    let missing = || CallReason::Missing { argument: "text" };
                    let text =
                        call.text("text")?.ok_or_else(|| Refusal::new("silent", missing()))?;
                    Ok(crate::map([("said", text.into())]))
                })
            },
        }],
    };

    fn say(input: &str) -> Value {
        Value::Object(answer(&ECHO, "say", Origin::Bus, &mut input.as_bytes()))
    }

    #[test]
    fn answers_and_refusals_are_json_objects() {
        assert_eq!(say(r#"{"text":"good day"}"#), json!({"said": "good day"}));
        for (input, code) in [("", "silent"), ("[]", "argument"), ("{", "argument")] {
            assert_eq!(say(input)["error"]["code"], code, "{input}");
        }
        assert_eq!(say(r#"{"text":7}"#)["error"]["argument"], "text");
        let session = r#"{"text":"a","ubus_rpc_session":"1"}"#;
        assert_eq!(say(session), json!({"said": "a"}));
        for name in ["txt", "Text", "", "text "] {
            let unknown = say(&json!({"text": "a", name: 1}).to_string());
            let error = (&unknown["error"]["code"], &unknown["error"]["argument"]);
            assert_eq!(error, (&json!("argument"), &json!(name)));
        }
        let unknown = Value::Object(answer(&ECHO, "shout\n", Origin::Bus, &mut "{}".as_bytes()));
        assert_eq!(unknown["error"]["text"], r"echo has no method 'shout\n'");
    }

    #[test]
    fn reads_only_the_first_object_of_a_stream() {
        assert_eq!(say(r#"{"text":"a"}{"text":"b"}"#), json!({"said": "a"}));
    }
}
