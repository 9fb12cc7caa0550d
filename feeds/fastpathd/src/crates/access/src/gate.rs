// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the web may ask rpcd's own `session login`, which slows nobody down.
//!
//! rpcd's package grants it to everybody in `acl.d/unauthenticated.json`, and grants can only be
//! taken back in the file that gives them. `LuCI` does not need this one: its pages log in inside
//! of uhttpd, on the bus and as root.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

/// The file of rpcd's package.
const FILE: &str = "/usr/share/rpcd/acl.d/unauthenticated.json";

/// `close` takes the grant away, `open` gives it back; rpcd reads it when it starts.
#[must_use]
pub fn gate(words: &[String]) -> ExitCode {
    let done = match words {
        [word] if word == "close" => turn(Path::new(FILE), true),
        [word] if word == "open" => turn(Path::new(FILE), false),
        _ => Err("usage: fastpath-rpcd login close|open".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("fastpath-rpcd: {why}");
            ExitCode::FAILURE
        }
    }
}

fn turn(file: &Path, closed: bool) -> Result<(), String> {
    let failed =
        |what: &str, cause: &dyn std::fmt::Display| format!("{what} {}: {cause}", file.display());
    let text = std::fs::read_to_string(file).map_err(|cause| failed("reading", &cause))?;
    let before: Value = serde_json::from_str(&text).map_err(|cause| failed("reading", &cause))?;
    let after = turned(&before, closed);
    if after == before {
        return Ok(());
    }
    // Beside it and renamed: rpcd never sees half of a file.
    let aside = file.with_extension("new");
    std::fs::write(&aside, format!("{after:#}\n")).map_err(|cause| failed("writing", &cause))?;
    std::fs::rename(&aside, file).map_err(|cause| failed("replacing", &cause))
}

/// The groups with the grant as wanted, and everything else as it was.
fn turned(groups: &Value, closed: bool) -> Value {
    let mut groups = groups.clone();
    let place = "/unauthenticated/read/ubus/session";
    if let Some(Value::Array(methods)) = groups.pointer_mut(place) {
        let login = json!("login");
        if closed {
            methods.retain(|method| *method != login);
        } else if !methods.contains(&login) {
            methods.push(login);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(methods: &[&str]) -> Value {
        json!({"unauthenticated": {
            "description": "Access controls for unauthenticated requests",
            "read": {"ubus": {"session": methods, "luci": ["getFeatures"]}},
        }})
    }

    #[test]
    fn only_the_login_goes_and_comes_back() {
        assert_eq!(turned(&groups(&["access", "login"]), true), groups(&["access"]));
        assert_eq!(turned(&groups(&["access"]), false), groups(&["access", "login"]));
        assert_eq!(turned(&groups(&["access", "login"]), false), groups(&["access", "login"]));
    }

    #[test]
    fn a_file_that_is_not_rpcds_stays() {
        for other in [json!({}), json!([1]), json!({"unauthenticated": {"read": 3}})] {
            assert_eq!(turned(&other, true), other);
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays() {
        let folder = std::env::temp_dir().join(format!("access-gate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let file = folder.join("unauthenticated.json");
        std::fs::write(&file, groups(&["access", "login"]).to_string()).expect("a file");
        assert_eq!(turn(&file, true), Ok(()));
        let text = std::fs::read_to_string(&file).expect("the file");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(groups(&["access"])));
        std::fs::write(&file, "{ broken").expect("a file");
        assert!(turn(&file, true).is_err_and(|why| why.starts_with("reading ")));
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("{ broken"));
    }
}
