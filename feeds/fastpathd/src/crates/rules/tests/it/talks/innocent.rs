// SPDX-License-Identifier: GPL-2.0-or-later
//! Ordinary traffic that resembles an attack: no rule may trigger.

use super::{Home, Outside, Talk, attempts, talk, tcp};
use crate::support::protocols::{client_hello, dns, get, page, post, request, server_hello};

pub(super) fn talks() -> Vec<Talk> {
    let back = |name, kind, body: &[u8]| tcp(name, &[], Home, 80, page(kind, body));
    let asked = |name, bytes: Vec<u8>| tcp(name, &[], Home, 80, request(Home, bytes));
    let served = |name, bytes: Vec<u8>| tcp(name, &[], Outside, 80, request(Outside, bytes));
    let mut program = vec![0; 400];
    program[..2].copy_from_slice(b"MZ");
    program[128..132].copy_from_slice(b"PE\0\0");
    vec![
        back("text about users", "text/html", b"<p>uid=0 is root, gid=0 too, groups=0</p>"),
        back("a Windows program", "application/octet-stream", &program),
        back("an image", "image/png", b"\x89PNG\r\n\x1a\nMZ PE\0\0 \x7fELF"),
        back("text about PowerShell", "text/html", b"use Net.WebClient and its DownloadString"),
        asked("shop", get("/select?union=1&cmd=list&path=../img", "")),
        asked("search", get("/?q=how+to+use+wget+and+curl;+see+http", "")),
        asked("braces", get("/?t=${title}", "X-Template: ${a} ${b}\r\n")),
        asked("cgi", get("/cgi-bin/view.cgi?a=1;b=2", "")),
        asked("form without password", post("/in", "comment=my+password+is+long")),
        served("own server", get("/etc/style.css?cmd=identify", "User-Agent: Mozilla/5.0\r\n")),
        served("own form", post("/note", "text=I+like+wget%3B+curl+too")),
        tcp(
            "HTTPS",
            &[],
            Home,
            443,
            vec![(Home, client_hello("www.example.org")), (Outside, server_hello([3, 3]))],
        ),
        attempts("browser", &[], Home, 443, 90),
        attempts("mail", &[], Home, 25, 3),
        attempts("SSH from outside", &[], Outside, 22, 3),
        talk("names", &[], |capture, pair| {
            let question = dns("img.cdn-7.example.org", 28, None);
            (0..50).for_each(|_| capture.udp(pair, Home, 53, &[(Home, question.clone())]));
        }),
        talk("pings", &[], |capture, pair| {
            (0..100).for_each(|_| capture.ping(pair, Home, 56));
        }),
    ]
}
