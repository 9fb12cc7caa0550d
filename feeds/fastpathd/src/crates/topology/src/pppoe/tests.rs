// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;
use crate::fixture::session;
use crate::types::Mac;

#[test]
fn parses_sessions_as_the_kernel_prints_them() {
    let raw = u16::from_be_bytes([0, 7]).to_be();
    let text =
        format!("Id       Address              Device\n{raw:08X} 52:54:00:02:00:04   wan.35\n");
    let peer = Mac([0x52, 0x54, 0, 2, 0, 4]);
    assert_eq!(parse_sessions(&text), [PppoeSession { id: 7, peer, device: "wan.35".into() }]);
}

#[test]
fn skips_invalid_lines() {
    for line in [
        "",
        "Id       Address              Device",
        "00010000 52:54:00:02:00:04 wan", // more than 16 bits
        "00000100 52:54:00:02:00 wan",
        "00000100 52:54:00:02:00:0g wan",
        "00000100 52:54:00:02:00:04:05 wan",
        "00000100 52:54:00:02:00:+4 wan",
        "00000100 52:54:00:02:00:04",
        "00000100 52:54:00:02:00:04 wan more",
    ] {
        assert!(parse_sessions(line).is_empty(), "{line}");
    }
}

fn cmdline(text: &str) -> Vec<u8> {
    text.split(' ').flat_map(|word| word.bytes().chain([0])).collect()
}

#[test]
fn reads_both_devices_from_the_command_line_of_pppd() {
    let expected = Dialer { device: "pppoe-wan".into(), lower: "wan.35".into() };
    for text in [
        "/usr/sbin/pppd nodetach ipparam wan ifname pppoe-wan plugin pppoe.so nic-wan.35 user x",
        "pppd plugin /usr/lib/pppd/2.5.2/rp-pppoe.so wan.35 ifname pppoe-wan noauth",
    ] {
        assert_eq!(parse_dialer(&cmdline(text)), Some(expected.clone()), "{text}");
    }
    for text in [
        "pppd plugin pppoe.so nic-wan.35",           // no ifname
        "pppd ifname pppoe-wan",                     // no PPPoE
        "pppd ifname",                               // truncated
        "vi pppd ifname pppoe-wan pppoe.so nic-wan", // another program
        "",
    ] {
        assert_eq!(parse_dialer(&cmdline(text)), None, "{text}");
    }
}

fn assigned(
    ppp: &[&str],
    sessions: &[PppoeSession],
    dialers: &[(&str, &str)],
) -> Vec<(String, u16)> {
    let ppp: Vec<Name> = ppp.iter().map(|name| Name::from(*name)).collect();
    let dialers: Vec<Dialer> = dialers
        .iter()
        .map(|(device, lower)| Dialer { device: (*device).into(), lower: (*lower).into() })
        .collect();
    assign(&ppp.iter().collect::<Vec<_>>(), sessions, &dialers)
        .into_iter()
        .map(|(device, session)| (device.to_string(), session.id))
        .collect()
}

#[test]
fn the_only_session_belongs_to_the_only_device() {
    assert_eq!(assigned(&["ppp0"], &[session(3, "wan")], &[]), [("ppp0".into(), 3)]);
    assert!(assigned(&["ppp0"], &[], &[]).is_empty());
    assert!(assigned(&[], &[session(3, "wan")], &[]).is_empty());
}

#[test]
fn dialers_assign_several_sessions() {
    let sessions = [session(1, "wan.35"), session(2, "wan2"), session(3, "wan3")];
    let ppp = ["pppoe-a", "pppoe-b", "pppoe-c"];
    assert!(assigned(&ppp, &sessions, &[]).is_empty(), "without dialers");
    let all = [("pppoe-a".to_owned(), 3), ("pppoe-b".to_owned(), 1), ("pppoe-c".to_owned(), 2)];
    assert_eq!(assigned(&ppp, &sessions, &[("pppoe-a", "wan3"), ("pppoe-b", "wan.35")]), all);
}

#[test]
fn two_sessions_over_one_device_are_ambiguous() {
    let sessions = [session(1, "wan"), session(2, "wan")];
    assert!(assigned(&["a", "b"], &sessions, &[("a", "wan"), ("b", "wan")]).is_empty());
    assert_eq!(common_lower(&sessions).map(|name| &**name), Some("wan"));
    assert_eq!(common_lower(&[session(1, "wan"), session(2, "lan")]), None);
    assert_eq!(common_lower(&[]), None);
}

#[test]
fn a_dialer_without_a_session_is_ignored() {
    // The session over wan2 is down, so the existing one belongs to the other device.
    let sessions = [session(1, "wan")];
    let dialers = [("pppoe-b", "wan2"), ("pppoe-a", "wan")];
    assert_eq!(assigned(&["pppoe-a"], &sessions, &dialers), [("pppoe-a".into(), 1)]);
}

proptest! {
    #[test]
    fn accepts_any_text(text: String, bytes: Vec<u8>) {
        let _ = parse_sessions(&text);
        let _ = parse_dialer(&bytes);
    }

    #[test]
    fn parses_any_session(id: u16, mac: [u8; 6], device in "[a-z0-9.]{1,15}") {
        let session = PppoeSession { id, peer: Mac(mac), device: device.as_str().into() };
        let text = format!("{:08X} {} {device:>8}\n", id.to_be(), Mac(mac));
        prop_assert_eq!(parse_sessions(&text), [session]);
    }
}
