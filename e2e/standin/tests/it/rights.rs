// SPDX-License-Identifier: GPL-2.0-or-later
//! Rights of web sessions, logins, and bus clients other than root.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use standin::broker::{Acl, Broker, Operation, Peer};
use standin::session::{self, Accounts, Grants, NOBODY, Sessions, password_matches};
use ubus::{Attribute, Blobmsg, Frame, Kind, Map, Status};

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("standin-rights-{}-{name}", std::process::id()));
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn grants_match_by_pattern() {
    let mut grants = Grants::default();
    grants.grant("ubus", "network.*", "dump");
    grants.grant("ubus", "system", "*");
    grants.grant("ubus", "system", "*");
    for (object, function, allowed) in [
        ("network.interface", "dump", true),
        ("network.interface", "up", false),
        ("network", "dump", false),
        ("system", "reboot", true),
    ] {
        assert_eq!(grants.allow("ubus", object, function), allowed, "{object} {function}");
    }
    assert!(!grants.allow("uci", "system", "read"), "another scope");
}

/// Hashes of `openssl passwd -5` and `-6`, and of mkpasswd with another number of rounds.
#[test]
fn a_password_matches_only_its_own_hash() {
    let sha256 = "$5$standin$N1gRK7tJCasTVcN7JiVwJ38lQkqvRNgObbf1DGWb9DB";
    let sha512 = concat!(
        "$6$standin$6Ai/Vpf2U2ORxj/VQZCQcZQY5kO0Lt2NN",
        "IFGCr1pEEFYLClPGwX9GH2lFDGEBkCWIzHtyOLZthluP6eWm0Iof."
    );
    assert!(password_matches(sha256, "look") && !password_matches(sha256, "fastpath"));
    assert!(password_matches(sha512, "fastpath") && !password_matches(sha512, "look"));
    assert!(password_matches("", "anything"), "no password is set");
    for locked in ["*", "!", "x", "$6$", "$1$abc$def", "!$5$standin$x"] {
        assert!(!password_matches(locked, ""), "{locked}");
        assert!(!password_matches(locked, locked), "{locked}");
    }
}

#[test]
fn a_login_is_granted_the_groups_of_its_lists() {
    let group = |name: &str| {
        format!(
            r#"{{"{name}": {{"read": {{"uci": ["{name}"]}}, "write": {{"uci": ["{name}"]}}}}}}"#
        )
    };
    let login = |user: &str, lists: &str| {
        format!("config login\n\toption username '{user}'\n\toption password ''\n{lists}")
    };
    // libuci drops empty options, which would disable this login.
    let open = |user: &str, lists: &str| login(user, lists).replace("''", "'$p$open'");
    let rpcd = open("all", "\tlist read '*'\n\tlist read '! b*'\n\tlist write 'a'\n")
        + &open("writer", "\tlist write 'b'\n")
        + &open("none", "")
        + &login("unset", "\tlist read '*'\n");
    let folder = folder(
        "login",
        &[
            ("config/rpcd", &rpcd),
            ("shadow", "open::0:0:99999:7:::\n"),
            ("acl/a.json", &group("a")),
            ("acl/b.json", &group("b")),
            ("acl/broken.json", "{"),
            ("acl/ignored.txt", &group("c")),
        ],
    );
    let accounts = Accounts {
        config: folder.join("config"),
        shadow: folder.join("shadow"),
        acl: folder.join("acl"),
    };
    let rights = |user: &str| {
        let grants = accounts.log_in(user, "").expect(user);
        ["a", "b", "c"]
            .map(|object| ["read", "write"].map(|level| grants.allow("uci", object, level)))
    };
    assert_eq!(rights("all"), [[true, true], [false, false], [false, false]]);
    assert_eq!(rights("writer"), [[false, false], [true, true], [false, false]]);
    assert_eq!(rights("none"), [[false; 2]; 3]);
    assert!(accounts.log_in("unset", "").is_none());
    assert!(accounts.log_in("nobody", "").is_none());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sessions_have_rights_and_expire() {
    let accounts = Accounts { config: PathBuf::new(), shadow: PathBuf::new(), acl: PathBuf::new() };
    let mut sessions = Sessions::new(Grants::default());
    let mut call = |method: &str, args: Value, at: u64| {
        let Value::Object(args) = args else { panic!("arguments are a table") };
        let now = Duration::from_secs(at);
        sessions.expire(now);
        session::answer(&mut sessions, &accounts, None, (method, &args), now)
    };
    let created = call("create", json!({"timeout": 10}), 0).unwrap();
    let id = created["ubus_rpc_session"].as_str().unwrap().to_owned();
    assert_eq!((id.len(), &created["expires"]), (32, &json!(10)));
    let with = |more: Value| {
        let mut args = json!({"ubus_rpc_session": id});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let data = call("get", with(json!({})), 5).unwrap();
    assert_eq!(data["values"], json!({}));
    assert_eq!(call("set", with(json!({"values": {"a": 1}})), 14), Err(Status::NotSupported));
    call("grant", with(json!({"objects": [["x", "y"], ["z"], "w"]})), 14).unwrap();
    let access = json!({"object": "x", "function": "y"});
    assert_eq!(call("access", with(access), 14).unwrap()["access"], true);
    assert_eq!(call("access", with(json!({})), 14).unwrap()["ubus"], json!({"x": ["y"]}));
    assert_eq!(call("list", with(json!({})), 20).unwrap()["expires"], 10);
    assert_eq!(call("list", with(json!({})), 30), Err(Status::NotFound), "it has ended");
    assert_eq!(
        call("destroy", json!({"ubus_rpc_session": NOBODY}), 30),
        Err(Status::PermissionDenied)
    );
    assert_eq!(call("destroy", with(json!({})), 30), Err(Status::NotFound));
    assert_eq!(call("destroy", json!({"ubus_rpc_session": 5}), 30), Err(Status::InvalidArgument));
    assert_eq!(call("login", json!({"username": "x"}), 30), Err(Status::InvalidArgument));
}

const FASTPATH: &str = r#"{
    "user": "fastpath",
    "access": {"uci": {"methods": ["get"]}, "network.*": {"methods": ["*"]}},
    "publish": ["fastpath"], "subscribe": ["network.*"], "listen": ["ubus.object.*"], "send": []
}"#;

fn peer(uid: u32, user: &str) -> Peer {
    Peer { uid, user: user.to_owned(), group: user.to_owned() }
}

#[test]
fn a_client_that_is_not_root_needs_a_right() {
    let folder = folder("acl", &[("fastpath.json", FASTPATH)]);
    let acl = Acl::read(&folder);
    let daemon = peer(900, "fastpath");
    for (name, operation, allowed) in [
        ("uci", Operation::Call("get"), true),
        ("uci", Operation::Call("set"), false),
        ("network.interface", Operation::Call("dump"), true),
        ("session", Operation::Call("login"), false),
        ("fastpath", Operation::Publish, true),
        ("fastpath2", Operation::Publish, false),
        ("network.interface", Operation::Subscribe, true),
        ("ubus.object.add", Operation::Listen, true),
        ("anything", Operation::Send, false),
    ] {
        assert_eq!(acl.allows(&daemon, name, operation), allowed, "{name} {operation:?}");
        assert!(acl.allows(&peer(0, "root"), name, operation), "root: {name} {operation:?}");
        assert!(!acl.allows(&peer(901, "other"), name, operation), "other: {name} {operation:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_bus_hides_and_rejects_objects_without_a_right() {
    let folder = folder("bus", &[("fastpath.json", FASTPATH)]);
    let mut next = 5000;
    let random = Box::new(move || {
        next += 1;
        next
    });
    let mut broker = Broker::new(Acl::read(&folder), random);
    let root = broker.connect(peer(0, "root"));
    let daemon = broker.connect(peer(900, "fastpath"));
    let signature = |method: &str| {
        let methods = Map::from_iter([(method.to_owned(), json!({}))]);
        Attribute::Signature(Blobmsg::encode(&methods).unwrap())
    };
    let ask = |broker: &mut Broker, client: u32, kind: Kind, attributes: Vec<Attribute>| {
        broker.take_outbox();
        broker.receive(client, Frame { kind, seq: 1, peer: 0, attributes });
        let frames = broker.take_outbox().into_iter();
        frames.filter(|(to, _)| *to == client).map(|(_, frame)| frame).collect::<Vec<_>>()
    };
    let path = |path: &str| Attribute::ObjectPath(path.to_owned());
    let add = |path: Attribute, method: &str| vec![path, signature(method)];
    let end = |frames: &[Frame]| frames.last().unwrap().status().unwrap();

    let secret = ask(&mut broker, root, Kind::AddObject, add(path("session"), "login"));
    ask(&mut broker, root, Kind::AddObject, add(path("uci"), "get"));
    let seen = ask(&mut broker, daemon, Kind::Lookup, vec![]);
    let paths: Vec<_> = seen.iter().filter_map(Frame::object_path).collect();
    assert_eq!(paths, ["uci"]);
    let id = secret[0].object_id().unwrap();
    let call = vec![Attribute::ObjectId(id), Attribute::Method("login".to_owned())];
    assert_eq!(end(&ask(&mut broker, daemon, Kind::Invoke, call)), Status::PermissionDenied);
    let other = ask(&mut broker, daemon, Kind::AddObject, add(path("other"), "x"));
    assert_eq!(end(&other), Status::InvalidArgument);
    let own = ask(&mut broker, daemon, Kind::AddObject, add(path("fastpath"), "x"));
    assert_eq!(end(&own), Status::Ok);
    let theirs = vec![Attribute::ObjectId(id)];
    assert_eq!(
        end(&ask(&mut broker, daemon, Kind::RemoveObject, theirs)),
        Status::PermissionDenied
    );
    std::fs::remove_dir_all(folder).unwrap();
}
