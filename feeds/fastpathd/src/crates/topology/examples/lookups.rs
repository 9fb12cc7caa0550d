// SPDX-License-Identifier: GPL-2.0-or-later
//! `lookups DEVICE-INDEX COUNT` looks up COUNT routes like the daemon, for
//! `e2e/bench/guest/daemon`. Fails if an answer has no next hop.

use std::error::Error;
use std::net::Ipv4Addr;

use topology::{Layer4, RouteAnswer, RouteLookup, RouteQuery};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, iif, count] = <[String; 3]>::try_from(std::env::args().collect::<Vec<_>>())
        .map_err(|_| "usage: lookups DEVICE-INDEX COUNT")?;
    let iif = iif.parse()?;
    let queries: Vec<_> = (0..count.parse::<u16>()?).map(|port| question(iif, port)).collect();
    let answers = RouteLookup::open()?.ask(&queries).await?;
    let resolved =
        answers.iter().filter(|(_, answer)| matches!(answer, RouteAnswer::Hop(_))).count();
    if resolved != queries.len() {
        return Err(format!("{resolved} of {} questions have a next hop", queries.len()).into());
    }
    Ok(())
}

/// Returns the query for a packet from the bench's client to its server.
fn question(iif: u32, port: u16) -> RouteQuery {
    RouteQuery {
        from: Ipv4Addr::new(10, 10, 10, 10).into(),
        to: Ipv4Addr::new(10, 10, 20, 10).into(),
        iif,
        mark: 0,
        layer4: Some(Layer4 { proto: 17, sport: 1024 + port, dport: 9 }),
    }
}
