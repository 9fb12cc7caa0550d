// SPDX-License-Identifier: GPL-2.0-or-later
//! Method `pmtu`: measures the path MTU to a host, and the fate of larger packets.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::machine::{Echo, Machine};
use crate::reason::DoctorReason;

/// Minimum packet size that IPv4 hosts must accept (RFC 791).
const MIN_MTU: u16 = 576;
/// MTU of Ethernet, the maximum of an Internet connection.
const MAX_MTU: u16 = 1500;
/// Number of attempts. A single lost packet is not a black hole.
const ATTEMPTS: usize = 2;

/// Finds the largest packet that `target` answers, by bisection. `limit` is the outcome for a
/// larger packet: `none` (1500 bytes pass), `device` (our own device), `reported` (by a router of
/// the path), or `silent` (a black hole).
pub(crate) fn measure(
    machine: &dyn Machine,
    target: &str,
) -> Result<Map<String, Value>, DoctorReason> {
    let refused = || DoctorReason::Target { target: target.escape_debug().to_string() };
    let host: Ipv4Addr = target.parse().map_err(|_| refused())?;
    if host.is_multicast() || host.is_broadcast() || host.is_unspecified() {
        return Err(refused());
    }
    let echo = |size: u16| {
        let mut last = Echo::Lost;
        for _ in 0..ATTEMPTS {
            let target = host.to_string();
            let sent = machine.echo(host, size);
            last = sent.map_err(|said| DoctorReason::Send { target, said })?;
            if last != Echo::Lost {
                break;
            }
        }
        Ok(last)
    };
    if echo(MIN_MTU)? != Echo::Answered {
        return Err(DoctorReason::Silent { target: host.to_string(), size: MIN_MTU });
    }
    let (mut fits, mut fails) = (MIN_MTU, MAX_MTU + 1);
    let mut limit = "none";
    let mut next = MAX_MTU;
    while fits + 1 < fails {
        match echo(next)? {
            Echo::Answered => fits = next,
            other => {
                fails = next;
                limit = other.name();
            }
        }
        next = fits.midpoint(fails);
    }
    let answer = json!({
        "target": host.to_string(), "mtu": fits, "limit": limit, "black_hole": limit == "silent",
    });
    Ok(match answer {
        Value::Object(answer) => answer,
        _ => Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::measure;
    use crate::machine::Echo;
    use crate::machine::fake::Fake;

    fn limit(fake: &Fake) -> (u64, String) {
        let answer = measure(fake, "203.0.113.1").unwrap();
        assert_eq!(answer["black_hole"], answer["limit"] == "silent");
        (answer["mtu"].as_u64().unwrap(), answer["limit"].as_str().unwrap().to_owned())
    }

    #[test]
    fn finds_the_path_mtu() {
        assert_eq!(limit(&Fake::new().passes(1500, Echo::Lost)), (1500, "none".into()));
        for size in [576, 1000, 1280, 1492, 1499] {
            for (beyond, name) in
                [(Echo::Lost, "silent"), (Echo::Reported, "reported"), (Echo::TooLarge, "device")]
            {
                let found = limit(&Fake::new().passes(size, beyond));
                assert_eq!(found, (u64::from(size), name.into()));
            }
        }
    }

    #[test]
    fn a_silent_host_is_not_reported_as_a_black_hole() {
        let error = measure(&Fake::new().passes(0, Echo::Lost), "203.0.113.1").unwrap_err();
        assert_eq!(error.code(), "silent");
    }

    #[test]
    fn accepts_only_the_address_of_a_host() {
        for target in ["", "example.org", "224.0.0.1", "0.0.0.0", "1.2.3.4; reboot", "::1"] {
            let error = measure(&Fake::new(), target).unwrap_err();
            assert_eq!(error.code(), "target", "{target}");
        }
    }
}
