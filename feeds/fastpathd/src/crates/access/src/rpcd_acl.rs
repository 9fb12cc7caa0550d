// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands `fastpath-rpcd login close` and `login open`: remove or restore the web's grant for
//! rpcd's `session login`, which does not delay guesses.
//!
//! A grant can be removed only in the file that declares it, `acl.d/unauthenticated.json` of rpcd's
//! package. `LuCI` does not need this grant, because it logs in from within uhttpd as root.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use plugin::process::{self, Limits};
use serde_json::{Value, json};

/// rpcd reads grants only at start and on reload. A reload keeps its sessions.
const RPCD: &str = "/etc/init.d/rpcd";
const FILE: &str = "/usr/share/rpcd/acl.d/unauthenticated.json";
/// Limits of a reload. fastpathd's start waits for it, and rpcd's init script could wait for procd
/// without end. Memory is unlimited, because services would inherit the limit.
const RELOAD: Limits = Limits { resources: false, ..Limits::short(20) };

/// Removes the grant (`close`) or restores it (`open`), and reloads rpcd if something changed.
#[must_use]
pub fn login_grant(words: &[String]) -> ExitCode {
    let done = match words {
        [word] if word == "close" => apply(Path::new(FILE), true, Path::new(RPCD), RELOAD),
        [word] if word == "open" => apply(Path::new(FILE), false, Path::new(RPCD), RELOAD),
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

fn apply(file: &Path, closed: bool, rpcd: &Path, limits: Limits) -> Result<(), String> {
    if !set_grant(file, closed)? || !rpcd.exists() {
        return Ok(());
    }
    let failed = |cause: &dyn std::fmt::Display| format!("{} reload: {cause}", rpcd.display());
    let mut reload = Command::new(rpcd);
    let ran = process::run(reload.arg("reload"), b"", limits).map_err(|cause| failed(&cause))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().next().unwrap_or_default();
    let end = process::killed(ran.status).unwrap_or_else(|| format!("{}: {said}", ran.status));
    Err(failed(&end))
}

/// Removes or adds the grant. Returns whether the file changed.
fn set_grant(file: &Path, closed: bool) -> Result<bool, String> {
    let failed =
        |what: &str, cause: &dyn std::fmt::Display| format!("{what} {}: {cause}", file.display());
    let text = std::fs::read_to_string(file).map_err(|cause| failed("reading", &cause))?;
    let before: Value =
        serde_json::from_slice(text.as_bytes()).map_err(|cause| failed("reading", &cause))?;
    let after = with_grant(&before, closed);
    if after == before {
        return Ok(false);
    }
    // Sync before the rename: an empty file after a power cut would make every web login fail.
    let aside = file.with_extension("new");
    let written = File::create(&aside).and_then(|mut new| {
        new.write_all(format!("{after:#}\n").as_bytes())?;
        new.sync_all()
    });
    written.map_err(|cause| failed("writing", &cause))?;
    std::fs::rename(&aside, file).map_err(|cause| failed("replacing", &cause))?;
    Ok(true)
}

fn with_grant(groups: &Value, closed: bool) -> Value {
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
    fn closing_and_opening_change_only_the_login_grant() {
        assert_eq!(with_grant(&groups(&["access", "login"]), true), groups(&["access"]));
        let both = groups(&["access", "login"]);
        assert_eq!(with_grant(&groups(&["access"]), false), both);
        assert_eq!(with_grant(&both, false), both);
    }

    #[test]
    fn leaves_a_file_with_another_structure_unchanged() {
        for other in [json!({}), json!([1]), json!({"unauthenticated": {"read": 3}})] {
            assert_eq!(with_grant(&other, true), other);
        }
    }

    #[test]
    fn reloads_rpcd_only_after_a_change_and_within_the_time_limit() {
        use std::os::unix::fs::PermissionsExt;
        use std::time::Duration;

        let folder = std::env::temp_dir().join(format!("access-rpcd-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let (file, rpcd) = (folder.join("unauthenticated.json"), folder.join("rpcd"));
        std::fs::write(&file, groups(&["access"]).to_string()).expect("a file");
        std::fs::write(&rpcd, "#!/bin/sh\necho \"$1\" >>\"$0.calls\"\n").expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&rpcd, executable).expect("a script that can be run");
        let calls = || std::fs::read_to_string(folder.join("rpcd.calls")).unwrap_or_default();
        for (closed, expected) in
            [(true, ""), (false, "reload\n"), (false, "reload\n"), (true, "reload\nreload\n")]
        {
            assert_eq!(apply(&file, closed, &rpcd, RELOAD), Ok(()));
            assert_eq!(calls(), expected);
        }
        let none = folder.join("none");
        assert_eq!(apply(&file, false, &none, RELOAD), Ok(()), "rpcd is not installed");
        let reloaded = |script: &str| {
            std::fs::write(&rpcd, script).expect("a script");
            std::fs::write(&file, groups(&["access", "login"]).to_string()).expect("a file");
            let limits = Limits { time: Duration::from_millis(200), ..RELOAD };
            apply(&file, true, &rpcd, limits).expect_err("not reloaded")
        };
        let failed = reloaded("#!/bin/sh\necho no bus >&2\nexit 4\n");
        assert!(failed.ends_with("rpcd reload: exit status: 4: no bus"), "{failed}");
        let killed = reloaded("#!/bin/sh\necho no bus >&2\nkill -9 $$\n");
        assert!(killed.contains("signal 9") && !killed.contains("bus"), "{killed}");
        let late = reloaded("#!/bin/sh\nexec sleep 60\n");
        assert!(late.ends_with("rpcd reload: it did not finish within 0 s"), "{late}");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    #[test]
    fn replaces_a_valid_file_and_keeps_a_broken_one() {
        let folder = std::env::temp_dir().join(format!("access-grant-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let file = folder.join("unauthenticated.json");
        std::fs::write(&file, groups(&["access", "login"]).to_string()).expect("a file");
        assert_eq!(set_grant(&file, true), Ok(true));
        assert_eq!(set_grant(&file, true), Ok(false));
        let text = std::fs::read_to_string(&file).expect("the file");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(groups(&["access"])));
        std::fs::write(&file, "{ broken").expect("a file");
        assert!(set_grant(&file, true).is_err_and(|why| why.starts_with("reading ")));
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("{ broken"));
    }
}
