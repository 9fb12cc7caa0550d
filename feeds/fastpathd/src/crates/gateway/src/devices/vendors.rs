// SPDX-License-Identifier: GPL-2.0-or-later
//! Searches vendors of MACs in the file of package arp-scan-database (OpenWrt v25.12): lines of a
//! prefix in hex digits, a tab, and a name, in any order. IEEE assigns prefixes of 6, 7 and 9
//! digits.

use std::io::{self, BufRead, Error, ErrorKind, Read};

use topology::Mac;

use crate::network::names::is_shown;

pub const VENDOR_FILE: &str = "/usr/share/arp-scan/ieee-oui.txt";

/// The file of arp-scan 1.10.0 has 1,453,113 bytes; IEEE's registry grows by 6 % a year.
const MAX_FILE_LEN: u64 = 8 << 20;
const MAX_LINE_LEN: u64 = 512;
const MAX_NAME_LEN: usize = 63;

/// Returns each of the sorted MACs with its vendor, empty if the file has none.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or has a line that is too long.
pub fn find(file: impl Read, macs: &[Mac]) -> io::Result<Vec<(Mac, String)>> {
    let mut found: Vec<_> = macs.iter().map(|mac| (*mac, 0, String::new())).collect();
    let mut file = io::BufReader::with_capacity(1 << 16, file.take(MAX_FILE_LEN));
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut file).take(MAX_LINE_LEN).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            // A line that is cut off ends the file.
            if line.len() < usize::try_from(MAX_LINE_LEN).unwrap_or(usize::MAX) {
                break;
            }
            return Err(Error::new(ErrorKind::InvalidData, "a line is too long"));
        }
        let Some((digits, first, name)) = entry(&line) else { continue };
        let bits = 4 * digits;
        let from = found.partition_point(|(mac, ..)| number(*mac) < first);
        for (mac, best, vendor) in &mut found[from..] {
            if number(*mac) >> (48 - bits) != first >> (48 - bits) {
                break;
            }
            // The longest prefix is the vendor's own; shorter ones are IEEE's.
            if *best < digits {
                (*best, *vendor) = (digits, shown(name));
            }
        }
    }
    Ok(found.into_iter().map(|(mac, _, vendor)| (mac, vendor)).collect())
}

/// Returns the number of digits, the first MAC with this prefix, and the name.
fn entry(line: &[u8]) -> Option<(usize, u64, &[u8])> {
    let tab = line.iter().take(13).position(|byte| *byte == b'\t')?;
    if !(6..=12).contains(&tab) || !line[..tab].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let prefix = u64::from_str_radix(std::str::from_utf8(&line[..tab]).ok()?, 16).ok()?;
    Some((tab, prefix << (48 - 4 * tab), &line[tab + 1..]))
}

fn number(mac: Mac) -> u64 {
    mac.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name: String = name.trim().chars().take(MAX_NAME_LEN).collect();
    if is_shown(&name) { name } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# comment\n\n0050C2\tIEEE Registration Authority\n0050C27D5\tDEUTA GmbH\n\
                        0055DA\tIEEE Registration Authority\n0055DA1\tShinko, Inc\n\
                        zz50C2\tx\n0050\tshort\n28CFE9\tApple, Inc.\r\n28CFEA\tevil\u{202e}x\n";

    fn vendors(file: &[u8], macs: &[&str]) -> io::Result<Vec<String>> {
        let macs: Vec<Mac> = macs.iter().map(|mac| mac.parse().unwrap()).collect();
        let mut sorted = macs.clone();
        sorted.sort_unstable();
        let found = find(file, &sorted)?;
        let of = |mac: &Mac| found.iter().find(|(each, _)| each == mac).unwrap().1.clone();
        Ok(macs.iter().map(of).collect())
    }

    #[test]
    fn the_longest_prefix_names_the_vendor() {
        let macs = [
            "00:50:c2:7d:5f:ff",
            "00:50:c2:7d:6f:ff",
            "00:55:da:1f:00:00",
            "28:cf:e9:00:00:00",
            "28:cf:e9:ff:ff:ff",
            "28:cf:ea:00:00:01",
            "00:50:12:00:00:01",
        ];
        let wanted = [
            ["DEUTA GmbH", "IEEE Registration Authority", "Shinko, Inc"].as_slice(),
            &["Apple, Inc.", "Apple, Inc.", "", ""],
        ];
        assert_eq!(vendors(FILE.as_bytes(), &macs).unwrap(), wanted.concat());
        // The order of the lines does not matter.
        let mut lines: Vec<&str> = FILE.lines().collect();
        lines.reverse();
        let reversed = lines.join("\n") + "\n";
        assert_eq!(vendors(reversed.as_bytes(), &macs).unwrap(), wanted.concat());
    }

    #[test]
    fn damaged_and_huge_files_do_no_harm() {
        let mac = ["28:cf:e9:00:00:00"];
        assert!(vendors(&vec![b'0'; 10_000], &mac).is_err());
        assert_eq!(vendors(b"28CFE9\tApp", &mac).unwrap(), [""], "cut off");
        assert_eq!(vendors(b"28CFE9\t\xff\x1b[2J\n\0\0\n", &mac).unwrap(), [""]);
        let line = "00000\n".repeat(1 << 22);
        let read = io::Cursor::new(line.clone() + "28CFE9\tlate\n");
        let found = find(read, &[mac[0].parse().unwrap()]);
        assert!(line.len() as u64 > MAX_FILE_LEN && !format!("{found:?}").contains("late"));
        let long = format!("28CFE9\t{}\n", "ü".repeat(200));
        assert_eq!(vendors(long.as_bytes(), &mac).unwrap(), ["ü".repeat(63)]);
    }
}
