// SPDX-License-Identifier: GPL-2.0-or-later
use super::super::alert::Offence;
use super::*;

fn alert(proven: bool) -> Alert {
    let address: IpAddr = "203.0.113.1".parse().unwrap();
    Alert {
        at_ms: 0,
        blocked: true,
        gid: 1,
        sid: 7,
        rev: 1,
        signature: "bad\n<0>kernel: \u{202e}\u{1b}[2J \"x\"".into(),
        category: String::new(),
        severity: 1,
        proto: "TCP".into(),
        app: String::new(),
        src: Some(address),
        sport: 80,
        dst: "2001:db8::1".parse().ok(),
        dport: 1024,
        direction: None,
        target: String::new(),
        device: String::new(),
        flow: 0,
        offence: Some(Offence { address, proven }),
    }
}

#[test]
fn control_characters_cannot_split_a_line() {
    let mut limits = LogLimits::default();
    let line = limits.line(Duration::ZERO, &alert(true)).unwrap();
    assert_eq!(
        line,
        "alert: packet dropped, TCP 203.0.113.1:80 -> [2001:db8::1]:1024, \
         rule 1:7 \"bad\\n<0>kernel: \\u{202e}\\u{1b}[2J \\\"x\\\"\""
    );
    let long = Alert { signature: "é".repeat(256), src: None, ..alert(true) };
    let line = limits.line(Duration::ZERO, &long).unwrap();
    assert!(line.contains(" ? -> ") && line.ends_with("\\u{e9}...\""), "{line}");
    assert!(line.len() < 1000, "{}", line.len());
    assert_eq!(limits.line(Duration::ZERO, &Alert { blocked: false, ..alert(true) }), None);
}

#[test]
fn forged_sources_do_not_exhaust_the_limit_of_proven_ones() {
    let mut limits = LogLimits::default();
    let logged = (0..1000).filter_map(|_| limits.line(Duration::ZERO, &alert(false)));
    assert_eq!(logged.count(), 20);
    let line = limits.line(Duration::ZERO, &alert(true)).unwrap();
    assert!(line.ends_with("; 980 more alerts were not logged"), "{line}");
    let line = limits.line(Duration::from_secs(1), &alert(false)).unwrap();
    assert!(!line.contains("more alerts"), "{line}");
}
