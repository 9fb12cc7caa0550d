// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversations with exposed services, infected hosts, passwords, suspicious names, TLS and scans.

use super::{Home, Outside, Side, Talk, attempts, talk, tcp};
use crate::support::protocols::{
    certificate, client_hello, dns, get, other, post, request, response, server_hello, snmp,
};

fn says(from: Side, text: &str) -> (Side, Vec<u8>) {
    (from, text.as_bytes().to_vec())
}

pub(super) fn exposed() -> Vec<Talk> {
    vec![
        attempts("telnet", &[8_100_030], Outside, 2323, 2),
        attempts("SMB", &[8_100_031], Outside, 445, 1),
        attempts("RDP", &[8_100_032], Outside, 3389, 1),
        tcp("ADB", &[8_100_033], Outside, 5555, vec![says(Outside, "CNXN\0\0\0\x01")]),
        attempts("VNC", &[8_100_034], Outside, 5901, 1),
        attempts("database", &[8_100_035], Outside, 6379, 1),
        talk("SNMP", &[8_100_036], |capture, pair| {
            capture.udp(pair, Outside, 161, &[(Outside, snmp("public"))]);
        }),
    ]
}

pub(super) fn infected() -> Vec<Talk> {
    let stratum = "{\"id\": 1, \"method\": \"mining.subscribe\", \"params\": []}\n";
    let monero = "{\"id\":1,\"method\":\"login\",\"params\":{\"login\":\"4x\",\"pass\":\"x\",\
        \"agent\":\"XMRig/6\",\"algo\":[\"rx/0\",\"cn/2\"]}}\n";
    let shell = "Microsoft Windows [Version 10.0.1]\r\n(c) x\r\n\r\nC:\\Users>";
    vec![
        attempts("telnet all over", &[8_100_040], Home, 23, 25),
        attempts("mail all over", &[8_100_041], Home, 25, 20),
        attempts("SMB outside", &[8_100_042], Home, 445, 2),
        tcp("stratum", &[8_100_043], Home, 3333, vec![says(Home, stratum)]),
        tcp("monero", &[8_100_044], Home, 443, vec![says(Home, monero)]),
        tcp("IRC", &[8_100_045], Home, 4444, vec![says(Home, "NICK bot7\r\nUSER b 0 * :b\r\n")]),
        tcp("cmd.exe", &[8_100_046], Home, 4444, vec![says(Home, shell)]),
        tcp(
            "cmd.exe, bound",
            &[8_100_046],
            Outside,
            4444,
            vec![says(Outside, "\n"), says(Home, shell)],
        ),
        tcp(
            "bash",
            &[8_100_047],
            Home,
            4444,
            vec![says(Home, "bash: no job control in this shell\n$ ")],
        ),
        tcp(
            "id",
            &[8_100_048],
            Home,
            4444,
            vec![says(Outside, "id\n"), says(Home, "uid=0(root) gid=0(root)\n")],
        ),
    ]
}

pub(super) fn passwords() -> Vec<Talk> {
    let ftp = vec![
        says(Outside, "220 hello\r\n"),
        says(Home, "USER bob\r\n"),
        says(Outside, "331 password\r\n"),
        says(Home, "PASS secret\r\n"),
        says(Outside, "230 good\r\n"),
    ];
    let anonymous = vec![
        says(Outside, "220 hello\r\n"),
        says(Home, "USER anonymous\r\n"),
        says(Outside, "331 password\r\n"),
        says(Home, "PASS me@example.org\r\n"),
        says(Outside, "230 good\r\n"),
    ];
    let basic = get("/", "Authorization: Basic Ym9iOng=\r\n");
    let mail = |greeting, text| vec![says(Outside, greeting), says(Home, text)];
    vec![
        tcp("FTP", &[8_100_050], Home, 21, ftp),
        tcp("FTP, anonymous", &[], Home, 21, anonymous),
        tcp("telnet", &[8_100_051], Home, 23, vec![says(Outside, "\r\nPassword: ")]),
        tcp("basic", &[8_100_052], Home, 80, request(Home, basic)),
        tcp("POP3", &[8_100_053], Home, 110, mail("+OK\r\n", "PASS secret\r\n")),
        tcp("IMAP", &[8_100_054], Home, 143, mail("* OK\r\n", "a1 LOGIN bob secret\r\n")),
        tcp("form", &[8_100_055], Home, 80, request(Home, post("/in", "user=b&password=x"))),
        tcp("empty form", &[], Home, 80, request(Home, post("/in", "user=b&password="))),
    ]
}

pub(super) fn names() -> Vec<Talk> {
    let asked = |name: &'static str, sids: &[u32], count: usize, question: Vec<u8>| {
        talk(name, sids, move |capture, pair| {
            for _ in 0..count {
                capture.udp(pair, Home, 53, &[(Home, question.clone())]);
            }
        })
    };
    let long = format!("{0}.{0}.t.example.org", "a1b2c3d4e5".repeat(5));
    let nowhere = "q7hd2.example.org";
    vec![
        asked("tunnel", &[8_100_060], 40, dns(&long, 1, None)),
        asked("one long name", &[], 5, dns(&long, 1, None)),
        asked("texts", &[8_100_061], 110, dns("x.example.org", 16, None)),
        talk("nowhere", &[8_100_062], move |capture, pair| {
            for _ in 0..210 {
                let answer = (Outside, dns(nowhere, 1, Some(3)));
                capture.udp(pair, Home, 53, &[(Home, dns(nowhere, 1, None)), answer]);
            }
        }),
        asked("onion", &[8_100_063], 1, dns("expyuzz4.onion", 1, None)),
    ]
}

pub(super) fn tls() -> Vec<Talk> {
    let with = |version, name| vec![(Home, client_hello(name)), (Outside, server_hello(version))];
    let mut strike = with([3, 3], "a.example");
    let der = include_bytes!("../../data/serial-08bb00ee.der");
    strike.push((Outside, certificate([3, 3], der)));
    vec![
        tcp("TLS 1.0", &[8_100_070], Home, 443, with([3, 1], "old.example")),
        tcp("TLS 1.1", &[8_100_070], Home, 443, with([3, 2], "old.example")),
        tcp("TLS 1.2", &[], Home, 443, with([3, 3], "new.example")),
        tcp("onion", &[8_100_071], Home, 443, with([3, 3], "expyuzz4.onion.ly")),
        tcp("certificate", &[8_100_072], Home, 443, strike),
    ]
}

pub(super) fn scans() -> Vec<Talk> {
    let many = |opener, count: usize, status: &'static str| {
        let one = [(opener, get("/", "")), (other(opener), response(status, "text/plain", b"no"))];
        one.iter().cloned().cycle().take(2 * count).collect::<Vec<_>>()
    };
    let mut ftp = vec![says(Outside, "220 hello\r\n")];
    for _ in 0..12 {
        ftp.push(says(Home, "PASS me@example.org\r\n"));
        ftp.push(says(Outside, "530 no\r\n"));
    }
    vec![
        attempts("scan", &[8_100_080], Outside, 8080, 110),
        attempts("worm", &[8_100_081], Home, 8080, 510),
        attempts("SSH", &[8_100_082], Outside, 22, 12),
        attempts("RDP", &[8_100_032, 8_100_083], Outside, 3389, 12),
        tcp("web passwords", &[8_100_084], Outside, 80, many(Outside, 35, "401 Unauthorized")),
        tcp("FTP passwords", &[8_100_085], Home, 21, ftp),
        tcp("pages", &[8_100_086], Outside, 80, many(Outside, 105, "404 Not Found")),
        talk("pings", &[8_100_087, 8_100_088], |capture, pair| {
            (0..70).for_each(|_| capture.ping(pair, Home, 1200));
        }),
    ]
}
