// SPDX-License-Identifier: GPL-2.0-or-later
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

#[path = "../../../plugin/tests/bus/mod.rs"]
mod bus;

/// A router with one valid password and a stopped clock.
struct Router {
    folder: PathBuf,
}

impl Router {
    fn new(name: &str) -> Self {
        let name = format!("access-login-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("uptime"), "100.00 0.00\n").unwrap();
        let answer = |object: &str, method: &str, args: &Map| {
            assert_eq!((object, method), ("session", "login"));
            match args["password"].as_str() {
                Some("right" | "") => Ok(map([("ubus_rpc_session", json!("an id"))])),
                Some("away") => Err(Status::Timeout),
                _ => Err(Status::PermissionDenied),
            }
        };
        bus::serve(&folder.join("bus"), Box::new(answer));
        Self { folder }
    }

    fn log_in(&self, password: &str) -> Result<Map, Refusal> {
        self.log_in_from("", "root", password)
    }

    fn log_in_from(&self, browser: &str, name: &str, password: &str) -> Result<Map, Refusal> {
        let at = |file: &str| Path::new(&self.folder).join(file);
        let bus = plugin::Bus::at(at("bus"));
        let mut args = map([("username", json!(name)), ("password", json!(password))]);
        args.insert("browser".to_owned(), browser.into());
        args.insert("nonce".to_owned(), self.nonce().into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, login(Call::new(args, bus), self.files()))
    }

    fn files(&self) -> Files {
        let at = |file: &str| self.folder.join(file);
        Files {
            record: Record::at(at("failures"), at("uptime")),
            key: at("key"),
            nonce_key: at("nonce-key"),
            accounts: Accounts::at(at("rpcd"), at("passwd"), at("shadow")),
        }
    }

    fn nonce(&self) -> String {
        let fixed = std::fs::read_to_string(self.folder.join("nonce"));
        fixed.unwrap_or_else(|_| {
            let answer = begin(&self.files()).expect("a nonce");
            answer["nonce"].as_str().expect("a text").to_owned()
        })
    }

    fn refused(&self, password: &str) -> (&'static str, Value) {
        let refusal = self.log_in(password).expect_err("a refusal");
        (refusal.code, refusal.more.get("wait_s").cloned().unwrap_or_default())
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_correct_password_resets_the_failures() {
    let router = Router::new("forgives");
    for round in 0..3 {
        for wait_s in [0, 0, 0] {
            assert_eq!(router.refused("wrong"), ("denied", json!(wait_s)), "round {round}");
        }
        let session = router.log_in("right").expect("the fourth attempt is not delayed");
        assert_eq!(session["ubus_rpc_session"], "an id");
    }
}

#[test]
fn wrong_passwords_delay_the_next_attempt() {
    let router = Router::new("waits");
    for wait_s in [0, 0, 0, 1] {
        assert_eq!(router.refused("wrong"), ("denied", json!(wait_s)));
    }
    assert_eq!(router.refused("right"), ("wait", json!(1)), "without a call of rpcd");
}

#[test]
fn an_unanswered_attempt_is_not_counted() {
    let router = Router::new("unanswered");
    for _ in 0..6 {
        assert_eq!(router.refused("away").0, "bus");
    }
    assert!(router.log_in("right").is_ok());
}

#[test]
fn guesses_of_others_do_not_delay_a_browser_with_a_token() {
    let router = Router::new("browser");
    let token = router.log_in("right").expect("the first login")["browser"].clone();
    let token = token.as_str().expect("a text");
    for _ in 0..100 {
        let _ = router.log_in("wrong");
    }
    assert_eq!(router.refused("right").0, "wait");
    let denied = router.log_in_from(token, "root", "wrong").expect_err("a typing error");
    assert_eq!((denied.code, &denied.more["wait_s"]), ("denied", &json!(0)));
    let session = router.log_in_from(token, "root", "right").expect("its next attempt");
    assert_eq!(
        (session["browser"].as_str(), &session["ubus_rpc_session"]),
        (Some(token), &json!("an id"))
    );
    assert_eq!(router.refused("right").0, "wait", "clients without a token still wait");

    let viewers = router.log_in_from("", "viewer", "right").expect("another name");
    let viewers = viewers["browser"].as_str().expect("a text");
    for foreign in [viewers, "", "x", &token[1..], &token.replace('.', "")] {
        let refused = router.log_in_from(foreign, "root", "right").expect_err("no token of root's");
        assert_eq!(refused.code, "wait", "{foreign}");
    }
    for wait_s in [0, 0, 0, 1] {
        let denied = router.log_in_from(token, "root", "wrong").expect_err("a wrong password");
        assert_eq!((denied.code, &denied.more["wait_s"]), ("denied", &json!(wait_s)));
    }
    assert_eq!(router.log_in_from(token, "root", "right").expect_err("the fifth").code, "wait");
}

#[test]
fn a_login_succeeds_if_the_key_cannot_be_written() {
    let router = Router::new("no-key");
    std::fs::create_dir_all(router.folder.join("key/x")).unwrap();
    let session = router.log_in("right").expect("a login without a token");
    assert_eq!(session.get("browser"), None);
}

#[test]
fn an_attempt_without_a_valid_nonce_is_not_counted() {
    let router = Router::new("nonce");
    assert_eq!(router.refused("wrong"), ("denied", json!(0)));
    let record = || std::fs::read_to_string(router.folder.join("failures")).unwrap();
    let (before, old) = (record(), router.nonce());
    std::fs::write(router.folder.join("uptime"), "160.01 0\n").unwrap();
    for wrong in ["", "100000.", &old[..old.len() - 1], &old] {
        std::fs::write(router.folder.join("nonce"), wrong).unwrap();
        for password in ["wrong", "right", ""] {
            assert_eq!(router.refused(password), ("nonce", Value::Null), "{wrong}");
        }
    }
    assert_eq!(record(), before);
    std::fs::remove_file(router.folder.join("nonce")).unwrap();
    assert!(router.log_in("right").is_ok());
}

#[test]
fn an_empty_password_is_accepted_only_shortly_after_boot() {
    let router = Router::new("empty");
    for (uptime, accepted) in [("1.0", true), ("900.0", true), ("900.1", false), ("1e6", false)] {
        std::fs::write(router.folder.join("uptime"), uptime).unwrap();
        let answer = router.log_in("").map_err(|refusal| (refusal.code, refusal.cause.code));
        assert_eq!(answer.is_ok(), accepted, "{uptime}: {answer:?}");
        assert!(accepted || answer == Err(("denied", "empty-password")), "{answer:?}");
        assert!(router.log_in("right").is_ok(), "{uptime}");
    }
}

#[test]
fn an_account_without_a_password_is_refused_15_minutes_after_boot() {
    let router = Router::new("open");
    let login = "config login\n option username root\n option password '$p$root'\n";
    std::fs::write(router.folder.join("rpcd"), login).unwrap();
    for (shadow, uptime, accepted) in [
        ("root::0:0:99999:7:::\n", "900.0", true),
        ("root::0:0:99999:7:::\n", "900.1", false),
        ("root:$5$x:0:0:99999:7:::\n", "900.1", true),
    ] {
        std::fs::write(router.folder.join("shadow"), shadow).unwrap();
        std::fs::write(router.folder.join("uptime"), uptime).unwrap();
        let answer = router.log_in("right").map_err(|refusal| (refusal.code, refusal.cause.code));
        assert_eq!(answer.is_ok(), accepted, "{shadow} {uptime}: {answer:?}");
        assert!(accepted || answer == Err(("denied", "empty-password")), "{answer:?}");
    }
}

#[test]
fn accounts_and_unknown_names_are_counted_separately() {
    let router = Router::new("account");
    std::fs::write(router.folder.join("passwd"), "root:x:0:0\n").unwrap();
    let _ = router.refused("wrong");
    let _ = router.log_in_from("", "nobody", "wrong");
    let record = std::fs::read_to_string(router.folder.join("failures")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        (&record["accounts"]["root"]["failures"], &record["names"]["nobody"]["failures"]),
        (&json!(1), &json!(1))
    );
}
