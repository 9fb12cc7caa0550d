// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::{LINKS, Outer, Tunnel, read};
use crate::facts::Unknown;
use crate::machine::fake::Fake;

fn link(kind: &str, options: &Value) -> Value {
    json!({"ifname": "tun0", "flags": ["POINTOPOINT", "UP", "LOWER_UP"], "mtu": 1500,
        "linkinfo": {"info_kind": kind, "info_data": options}})
}

/// Returns a router with this link and the WAN with an MTU of 1492, over which remote addresses
/// are reached.
fn router(link: &Value) -> Fake {
    let wan = json!({"ifname": "pppoe-wan", "flags": ["UP"], "mtu": 1492});
    let via = |address: &str| json!([{"dst": address, "dev": "pppoe-wan"}]).to_string();
    Fake::new()
        .prints(LINKS, &json!([wan, link]).to_string())
        .prints("ip -j route get 203.0.113.1", &via("203.0.113.1"))
        .prints("ip -j route get 2001:db8::1", &via("2001:db8::1"))
}

fn only(fake: &Fake) -> Tunnel {
    let mut all = read(fake).all.0.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn ends(fake: &Fake) -> Result<Vec<Outer>, Unknown> {
    only(fake).outer.0
}

/// Returns the largest inner packet.
fn room(fake: &Fake) -> u64 {
    ends(fake).unwrap().iter().map(|end| end.room).min().unwrap()
}

#[test]
fn subtracts_the_headers_of_each_kind() {
    let v4 = json!({"remote": "203.0.113.1", "local": "192.0.2.9"});
    let v6 = json!({"remote": "2001:db8::1", "encap_limit": 4});
    let unlimited = json!({"ip6_tnl_f_ign_encap_limit": true});
    let none = json!({});
    let all = json!({"okey": "0.0.0.7", "ocsum": true, "oseq": true});
    let incoming = json!({"ikey": "0.0.0.7", "icsum": true, "iseq": true});
    for (kind, base, more, expected) in [
        ("ipip", &v4, &none, 1472),
        ("sit", &v4, &none, 1472),
        ("gre", &v4, &none, 1468),
        ("gre", &v4, &all, 1456),
        ("gre", &v4, &incoming, 1468),
        ("gretap", &v4, &none, 1454),
        ("ip6tnl", &v6, &none, 1444),
        ("ip6tnl", &v6, &unlimited, 1452),
        ("ip6gre", &v6, &none, 1440),
        ("ip6gre", &v6, &all, 1428),
        ("ip6gretap", &v6, &unlimited, 1434),
        ("vxlan", &v4, &none, 1442),
        ("vxlan", &json!({"remote6": "2001:db8::1"}), &none, 1422),
        ("vxlan", &v4, &json!({"gpe": true}), 1456),
    ] {
        let mut options = base.as_object().unwrap().clone();
        options.extend(more.as_object().unwrap().clone());
        let found = room(&router(&link(kind, &options.into())));
        assert_eq!(found, expected, "{kind} {base} {more}");
    }
}

#[test]
fn routes_by_mark_and_bound_device() {
    let mut link = link("gre", &json!({"remote": "203.0.113.1", "fwmark": "0x5"}));
    link["link"] = "wan2".into();
    let route = json!([{"dst": "203.0.113.1", "dev": "wan2"}]).to_string();
    let command = "ip -j route get 203.0.113.1 oif wan2 mark 0x5";
    let wan = json!({"ifname": "wan2", "mtu": 1400});
    let fake = Fake::new().prints(LINKS, &json!([wan, link]).to_string()).prints(command, &route);
    let end = ends(&fake).unwrap().remove(0);
    assert_eq!((&*end.device, end.mtu, end.room, &*end.source), ("wan2", 1400, 1376, command));
}

#[test]
fn takes_the_endpoint_with_the_least_room() {
    let endpoints = "k1\t(none)\nk2\t203.0.113.1:51820\nk3\t[2001:db8::1]:51820\n";
    let with_mark = |mark: &str| {
        router(&link("wireguard", &Value::Null))
            .prints("wg show tun0 endpoints", endpoints)
            .prints("wg show tun0 fwmark", mark)
    };
    assert_eq!(room(&with_mark("off\n")), 1412);
    let unroutable = ends(&with_mark("0xca6c\n")).unwrap_err().to_string();
    assert!(unroutable.contains("route get 203.0.113.1 mark 0xca6c"), "{unroutable}");
}

/// Output of iproute2 6.15 without keys.
fn states(transform: &str) -> String {
    let state = |src: &str, dst: &str, if_id: &str, transform: &str| {
        format!(
            "src {src} dst {dst}\n\tproto esp spi 0x00001001 reqid 1 mode tunnel\n\
             \treplay-window 0 flag af-unspec\n\t{transform}\n\
             \tanti-replay context: seq 0x0, oseq 0x12, bitmap 0x00000000\n\tif_id {if_id}\n"
        )
    };
    [
        state("192.0.2.9", "198.51.100.1", "0x7", "aead unknown <<Keys hidden>> 64"),
        state("192.0.2.9", "203.0.113.1", "0x2a", transform),
        state("203.0.113.1", "192.0.2.9", "0x2a", "aead unknown <<Keys hidden>> 64"),
    ]
    .concat()
}

fn xfrm(transform: &str) -> Fake {
    router(&link("xfrm", &json!({"if_id": "0x2a"})))
        .prints("ip xfrm state list nokeys", &states(transform))
        .prints("ip -j route get 192.0.2.9", r#"[{"type":"local","dst":"192.0.2.9","dev":"lo"}]"#)
}

#[test]
fn rounds_to_the_block_size_of_esp() {
    let keys = "<<Keys hidden>>";
    for (transform, expected) in [
        (format!("aead rfc4106(gcm(aes)) {keys} 128"), 1438),
        (format!("auth-trunc hmac(sha256) {keys} 128\n\tenc cbc(aes) {keys}"), 1422),
        (format!("auth-trunc hmac(sha1) {keys} 96\n\tenc ecb(cipher_null) {keys}"), 1450),
        (format!("aead rfc4106(gcm(aes)) {keys} 128\n\tencap type espinudp sport 4500"), 1430),
    ] {
        assert_eq!(room(&xfrm(&transform)), expected, "{transform}");
    }
    let why = ends(&xfrm("aead twofish <<Keys hidden>> 128")).unwrap_err().to_string();
    assert!(why.contains("203.0.113.1"), "{why}");
}

#[test]
fn tells_why_headers_are_unknown() {
    let why = |fake: &Fake| ends(fake).unwrap_err().to_string();
    let remote = json!({"remote": "203.0.113.1", "encap": {"type": "fou"}});
    assert!(why(&router(&link("gre", &remote))).contains("fou"));
    assert!(why(&router(&link("gre", &Value::Null))).contains("ip-full"));
    assert!(why(&router(&link("wireguard", &Value::Null))).contains("wg is not there"));
    let far = json!({"remote": "198.51.100.1"});
    assert!(why(&router(&link("gre", &far))).contains("route get 198.51.100.1"));
    let busybox = Fake::new().refuses(LINKS, "ip: invalid option -- 'd'");
    assert!(read(&busybox).all.0.unwrap_err().to_string().contains("invalid option"));
}

#[test]
fn skips_tunnels_that_send_to_no_fixed_address() {
    assert_eq!(ends(&router(&link("sit", &json!({"remote": "any"})))), Ok(vec![]));
    assert_eq!(ends(&router(&link("vxlan", &json!({"group": "239.1.1.1"})))), Ok(vec![]));
    let mut down = link("gre", &json!({"remote": "203.0.113.1"}));
    down["flags"] = json!(["POINTOPOINT"]);
    assert_eq!(read(&router(&down)).all.get(), Ok(&vec![]));
    assert_eq!(read(&router(&link("dummy", &Value::Null))).all.get(), Ok(&vec![]));
}
