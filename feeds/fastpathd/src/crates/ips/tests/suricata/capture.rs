// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds captures of connections, and returns the real Suricata's events about them.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::net::UnixListener;

use crate::common::{Case, folder, installed, run, settings, threads};

pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// A host, the server's port, and the IP version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) host: u16,
    pub(crate) port: u16,
    pub(crate) v6: bool,
}

impl Ends {
    fn ports(self, from_host: bool) -> Vec<u8> {
        let mut ports = [4000, self.port];
        if !from_host {
            ports.reverse();
        }
        ports.into_iter().flat_map(u16::to_be_bytes).collect()
    }

    pub(crate) fn tcp(self, from_host: bool, flags: u8, numbers: [u32; 2], text: &[u8]) -> Vec<u8> {
        let mut body = self.ports(from_host);
        body.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        body.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        body.extend(text);
        self.packet(from_host, 6, &body)
    }

    pub(crate) fn udp(self, from_host: bool, text: &[u8]) -> Vec<u8> {
        let mut body = self.ports(from_host);
        body.extend(u16::try_from(text.len() + 8).expect("short").to_be_bytes());
        body.extend([0, 0]);
        body.extend(text);
        self.packet(from_host, 17, &body)
    }

    fn packet(self, from_host: bool, protocol: u8, body: &[u8]) -> Vec<u8> {
        let length = |of: usize| u16::try_from(of).expect("short").to_be_bytes();
        let [high, low] = self.host.to_be_bytes();
        if self.v6 {
            let server = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets();
            let host = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, self.host).octets();
            let ends = if from_host { [host, server] } else { [server, host] };
            let [a, b] = length(body.len());
            let head = [0x60, 0, 0, 0, a, b, protocol, 64];
            return [head.as_slice(), &ends.concat(), body].concat();
        }
        let server = Ipv4Addr::new(10, 0, 0, 1).octets();
        let host = Ipv4Addr::new(198, 18, high, low).octets();
        let ends = if from_host { [host, server] } else { [server, host] };
        let [a, b] = length(body.len() + 20);
        let head = [0x45, 0, a, b, 0, 1, 0, 0, 64, protocol, 0, 0];
        [head.as_slice(), &ends.concat(), body].concat()
    }
}

pub(crate) fn capture(packets: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 101] {
        bytes.extend(word.to_le_bytes());
    }
    for (at, packet) in (1_u32..).zip(packets) {
        let [seconds, micros] = [at / 2000, at % 2000 * 500];
        let length = u32::try_from(packet.len()).expect("short");
        for word in [1_700_000_000 + seconds, micros, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packet);
    }
    bytes
}

/// Returns the EVE lines of a capture, with our overlay and these rules.
pub(crate) fn events(program: &OsString, rules: &str, always: bool, capture: &[u8]) -> String {
    let folder = folder("capture");
    let uci = "config ips 'ips'\noption enabled '1'\noption memory '32'\n";
    let settings = settings(uci).expect("good");
    let mut case = Case { settings, threads: threads(&[0], &[0]), always, ..Case::default() };
    fs::write(folder.join("our.rules"), rules).expect("rules");
    installed(&mut case, &folder);
    fs::write(folder.join("overlay.yaml"), case.overlay()).expect("overlay");
    fs::write(folder.join("talks.pcap"), capture).expect("a capture");
    let listener = UnixListener::bind(&case.files.events).expect("bound");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let (mut stream, _) = listener.accept().expect("Suricata connects");
        stream.read_to_string(&mut text).expect("its events");
        text
    });
    let file = folder.join("talks.pcap").display().to_string();
    let more = ["-r", &file, "--runmode", "single", "-k", "none", "--simulate-ips"];
    let output = run(program, &folder, &more.map(str::to_owned));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = reader.join().expect("read");
    fs::remove_dir_all(&folder).expect("removed");
    text
}
