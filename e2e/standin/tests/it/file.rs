// SPDX-License-Identifier: GPL-2.0-or-later
//! rpcd's object `file`, of the stand-in or of the real programs in `CONTRACT_OPENWRT`.

use std::path::Path;

use crate::support::bus::Bus;
use crate::support::router;
use serde_json::{Value, json};
use ubus::Status;

/// Creates a session with rights to files: `[[path, right], …]`.
fn session(bus: &Bus, rights: &Value) -> String {
    let created = bus.call("session", "create", &json!({"timeout": 60})).unwrap();
    let id = created["ubus_rpc_session"].as_str().unwrap().to_owned();
    let args = json!({"ubus_rpc_session": id, "scope": "file", "objects": rights});
    bus.call("session", "grant", &args).unwrap();
    id
}

#[test]
fn file_methods_respect_the_rights_of_the_session() {
    let bus = Bus::start("", &[]);
    let folder = router::temp_path("files");
    std::fs::create_dir_all(&folder).unwrap();
    paths_are_read_and_written(&bus, &folder);
    a_session_needs_a_right_to_the_path(&bus, &folder);
    programs_run(&bus);
    a_session_needs_a_right_to_the_program_or_its_command_line(&bus);
    std::fs::remove_dir_all(folder).unwrap();
}

fn paths_are_read_and_written(bus: &Bus, folder: &Path) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let call = |method: &str, args: Value| bus.call("file", method, &args);
    let text = json!({"path": at("a"), "data": "öne\n", "mode": 0o640});
    assert_eq!(call("write", text), Ok(json!({})));
    call("write", json!({"path": at("a"), "data": "two", "append": true})).unwrap();
    assert_eq!(call("read", json!({"path": at("a")})), Ok(json!({"data": "öne\ntwo"})));
    std::os::unix::fs::symlink("a", folder.join("link")).unwrap();
    let listed = call("list", json!({"path": at("./b/..")})).unwrap();
    let mut names: Vec<_> = listed["entries"].as_array().unwrap().iter().collect();
    names.sort_by_key(|entry| entry["name"].as_str().unwrap().to_owned());
    let found = names[0];
    assert_eq!(
        (&found["name"], &found["type"], &found["size"], &found["mode"], &found["uid"]),
        (&json!("a"), &json!("file"), &json!(8), &json!(0o100_640), &json!(0))
    );
    assert_eq!(found["user"], "root");
    assert_eq!((&names[1]["name"], &names[1]["target"]["name"]), (&json!("link"), &json!("a")));
    std::fs::write(folder.join("large"), vec![b'x'; 300_000]).unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    for (args, status) in [
        (json!({"path": at("missing")}), Status::NotFound),
        (json!({"path": at("large")}), Status::NotSupported),
        (json!({"path": at("empty")}), Status::NoData),
        (json!({"path": at("a/b")}), Status::InvalidArgument),
        (json!({}), Status::InvalidArgument),
    ] {
        assert_eq!(call("read", args.clone()), Err(status), "{args}");
    }
}

fn a_session_needs_a_right_to_the_path(bus: &Bus, folder: &Path) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let id = session(bus, &json!([[at("*"), "read"], [at("new"), "write"]]));
    let call = |method: &str, path: &str| {
        let args = json!({"ubus_rpc_session": id, "path": path, "data": "x"});
        bus.call("file", method, &args)
    };
    assert!(call("read", &at("a")).is_ok());
    assert!(call("write", &at("new")).is_ok());
    let outside = at("../../etc/passwd");
    for (method, path) in [("write", at("a")), ("read", outside), ("list", at(""))] {
        assert_eq!(call(method, &path), Err(Status::PermissionDenied), "{method} {path}");
    }
}

fn programs_run(bus: &Bus) {
    let run = |command: &str, params: &[&str]| {
        bus.call("file", "exec", &json!({"command": command, "params": params}))
    };
    let script = "echo out; echo err >&2; exit 3";
    let all = json!({"code": 3, "stdout": "out\n", "stderr": "err\n"});
    assert_eq!(run("/bin/sh", &["-c", script]), Ok(all));
    assert_eq!(run("sh", &["-c", "read x || echo nothing to read"]).unwrap()["code"], 0);
    assert_eq!(run("true", &[]), Ok(json!({"code": 0})));
    assert_eq!(run("/no/such/program", &[]), Err(Status::NotFound));
    assert_eq!(run("sleep", &["30"]), Err(Status::Timeout));
    let much = "i=0; while [ $i -lt 30 ]; do printf '%010000d' 1; i=$((i+1)); done";
    assert_eq!(run("sh", &["-c", much]), Err(Status::NotSupported));
}

fn a_session_needs_a_right_to_the_program_or_its_command_line(bus: &Bus) {
    let id = session(bus, &json!([["/bin/cat", "exec"], ["/bin/echo just *", "exec"]]));
    let run = |command: &str, params: &[&str]| {
        let args = json!({"ubus_rpc_session": id, "command": command, "params": params});
        bus.call("file", "exec", &args).map(|answer| answer["stdout"].clone())
    };
    assert_eq!(run("/bin/echo", &["just", "this"]), Ok(json!("just this\n")));
    assert_eq!(run("/bin/echo", &["that"]), Err(Status::PermissionDenied));
    assert!(run("/bin/cat", &["/dev/null"]).is_ok());
    assert_eq!(run("/bin/../bin/sh", &[]), Err(Status::PermissionDenied));
    let args = json!({"ubus_rpc_session": id, "command": "/bin/cat", "env": {"A": "b"}});
    assert_eq!(bus.call("file", "exec", &args), Err(Status::PermissionDenied));
}
