// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::tunnels::{LINKS, read};
use crate::facts::{Facts, rules, uci};
use crate::finding::{Finding, Fix};
use crate::machine::fake::Fake;
use crate::texts::tests::all_found;

const FIREWALL: &str = "config zone 'l'\n\toption name 'lan'\n\tlist network 'lan'\n\
     config zone 'v'\n\toption name 'vpn'\n\tlist network 'home'\n\
     config forwarding\n\toption src 'lan'\n\toption dest 'vpn'\n";
const NETWORK: &str = "config interface 'lan'\n\toption device 'br-lan'\n\
     config interface 'home'\n\toption proto 'gre'\n";

struct Router {
    kind: &'static str,
    mtu: u64,
    /// MTU of the device below.
    lower: u64,
    lan: u64,
    firewall: &'static str,
    network: &'static str,
    /// Families of chains that clamp the MSS.
    clamping: &'static [&'static str],
    /// Device that clamped packets enter by.
    from: &'static str,
}

const FITTING: Router = Router {
    kind: "gre",
    mtu: 1468,
    lower: 1492,
    lan: 1500,
    firewall: FIREWALL,
    network: NETWORK,
    clamping: &["inet"],
    from: "br-*",
};

impl Router {
    fn facts(&self) -> Facts {
        let info = json!({"info_kind": self.kind, "info_data": {"remote": "203.0.113.1"}});
        let links = json!([
            {"ifname": "br-lan", "mtu": self.lan},
            {"ifname": "pppoe-wan", "mtu": self.lower},
            {"ifname": "gre4-home", "flags": ["UP"], "mtu": self.mtu, "linkinfo": info},
        ]);
        let mss = json!({"mangle": {"value": {"rt": {"key": "mtu"}},
            "key": {"tcp option": {"name": "maxseg", "field": "size"}}}});
        let enters = json!({"match": {"op": "==", "left": {"meta": {"key": "iifname"}},
            "right": self.from}});
        let clamping = |family: &&str| {
            let chain = json!({"family": family, "table": "t", "name": "c", "hook": "forward"});
            let rule = json!({"family": family, "table": "t", "chain": "c", "expr": [enters, mss]});
            [json!({"chain": chain}), json!({"rule": rule})]
        };
        let rules: Vec<Value> = self.clamping.iter().flat_map(clamping).collect();
        let fake = Fake::new()
            .prints(LINKS, &links.to_string())
            .prints("ip -j route get 203.0.113.1", r#"[{"dev":"pppoe-wan"}]"#)
            .prints("nft -j list ruleset", &json!({"nftables": rules}).to_string())
            .file("/etc/config/firewall", self.firewall)
            .file("/etc/config/network", self.network);
        Facts {
            rules: rules::read(&fake),
            uci: uci::read(&fake),
            tunnels: read(&fake),
            ..Facts::default()
        }
    }

    fn found(&self) -> Vec<(&'static str, Finding)> {
        all_found(CHECKS, &self.facts())
    }

    fn edit(&self) -> Option<Value> {
        match self.found().remove(0).1.fix {
            Some(Fix::Change(mut edits)) => Some(edits.remove(0)),
            Some(Fix::Steps(_)) | None => None,
        }
    }
}

#[test]
fn a_fitting_tunnel_has_no_finding() {
    assert_eq!(FITTING.found(), []);
}

#[test]
fn the_fix_sets_the_largest_fitting_mtu_of_the_interface() {
    let large = Router { mtu: 1469, ..FITTING };
    let (id, finding) = large.found().remove(0);
    assert_eq!((id, &finding.params["room"]), ("tunnel-mtu", &json!(1468)));
    let seen: Vec<_> = finding.evidence.iter().map(|seen| (&*seen.of, &*seen.value)).collect();
    assert_eq!(
        seen,
        [
            ("gre4-home", "1469"),
            ("pppoe-wan", "1492"),
            ("203.0.113.1", "pppoe-wan"),
            ("gre4-home", "24 B")
        ]
    );
    let edit = large.edit().unwrap();
    assert_eq!((&edit["section"], &edit["values"]), (&json!("home"), &json!({"mtu": "1468"})));
}

#[test]
fn no_fix_sets_an_mtu_too_small_for_ipv6() {
    assert!(Router { lower: 1304, ..FITTING }.edit().is_some());
    assert_eq!(Router { lower: 1303, ..FITTING }.edit(), None);
}

#[test]
fn a_device_that_the_interface_does_not_create_has_no_fix() {
    let network = "config interface 'home'\n\toption device 'gre4-home'\n\toption proto 'none'\n";
    assert_eq!(Router { mtu: 1500, network, ..FITTING }.edit(), None);
    assert_eq!(Router { mtu: 1500, network: "", ..FITTING }.edit(), None);
}

#[test]
fn an_unreadable_tunnel_makes_the_check_unknown() {
    let mut facts = FITTING.facts();
    let mut tunnels = facts.tunnels.all.get().unwrap().iter();
    assert_eq!(tunnels.next().unwrap().outer.get().unwrap().len(), 1);
    facts.tunnels = Router { kind: "wireguard", ..FITTING }.facts().tunnels;
    assert!((CHECKS[0].run)(&facts).unwrap_err().to_string().contains("wg"));
    // The MSS needs no route.
    assert_eq!((CHECKS[1].run)(&facts), Ok(None));
}

#[test]
fn the_fix_enables_mss_clamping_for_the_zone() {
    let unclamped = Router { clamping: &[], ..FITTING };
    let (id, finding) = unclamped.found().remove(0);
    assert_eq!((id, &finding.params["device"]), ("tunnel-mss", &json!("gre4-home")));
    assert!(finding.about().contains(&"br-lan".to_owned()), "{finding:?}");
    let edit = unclamped.edit().unwrap();
    assert_eq!((&edit["section"], &edit["values"]), (&json!("v"), &json!({"mtu_fix": "1"})));
}

#[test]
fn reports_only_zones_that_forward_from_a_larger_mtu() {
    let unclamped = Router { clamping: &[], ..FITTING };
    for (expected, router) in [
        (1, Router { clamping: &["ip6"], ..unclamped }),
        (0, Router { clamping: &["ip"], ..unclamped }),
        (1, Router { clamping: &["ip"], from: "pppoe-wan", ..unclamped }),
        (1, Router { clamping: &["ip"], kind: "sit", ..unclamped }),
        (0, Router { clamping: &["ip6"], kind: "sit", ..unclamped }),
        (0, Router { lan: 1468, ..unclamped }),
        (0, Router { firewall: FIREWALL.split_once("config forwarding").unwrap().0, ..unclamped }),
        (0, Router { firewall: "", ..unclamped }),
    ] {
        let found = router.found();
        assert_eq!(found.len(), expected, "{} {:?}", router.kind, router.clamping);
    }
}
