// SPDX-License-Identifier: GPL-2.0-or-later
//! Access rights of the page: a read-only account cannot read a password in a file.

use crate::support::router::Router;
use crate::support::rpc::{call, log_in_as};
use serde_json::{Value, json};

const SOURCE: &str = "config rules 'et'\n\toption url 'https://ann:geheim@rules.example/x'\n";
const RIGHTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../luci-app-fastpath/root/usr/share/rpcd/acl.d/luci-app-fastpath.json"
);

fn got(router: &Router, user: &str, password: &str) -> Value {
    let session = log_in_as(&router.address, user, password, 300);
    call(&router.address, &session, "uci", "get", &json!({"config": "fastpath"}))
}

#[test]
fn a_viewer_cannot_read_the_password_of_a_rule_source() {
    let router = Router::start();
    let folder = router.folder.clone().unwrap();
    std::fs::write(folder.join("config/fastpath"), SOURCE).unwrap();
    // The recorded access group grants `uci get`, which also returns the password.
    let answer = got(&router, "viewer", "look").to_string();
    assert!(answer.contains("geheim"), "{answer}");
    std::fs::copy(RIGHTS, folder.join("acl.d/fastpath.json")).unwrap();
    let answer = got(&router, "viewer", "look").to_string();
    assert!(!answer.contains("geheim") && answer.contains("-32002"), "{answer}");
}
