// SPDX-License-Identifier: GPL-2.0-or-later
//! `limit DEVICE LOWER INNER DOWNLOAD UPLOAD` limits the WAN on DEVICE above LOWER to rates in
//! kbit/s, like the daemon, for `e2e/bench/guest/shape`. INNER leads to the hosts. Prints whether
//! the kernel was changed.

use std::error::Error;

use latency::{Settings, Wan, apply, plan};
use netlink::{Client, Protocol};
use topology::{Topology, Watcher};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, device, lower, inner, download, upload] =
        <[String; 6]>::try_from(std::env::args().collect::<Vec<_>>())
            .map_err(|_| "usage: limit DEVICE LOWER INNER DOWNLOAD UPLOAD")?;
    let settings = Settings {
        enabled: true,
        download: download.parse()?,
        upload: upload.parse()?,
        ..Settings::default()
    };
    let mut topology = Topology::new();
    for change in Watcher::open()?.next().await? {
        topology.apply(change);
    }
    let proto = if device == lower { "dhcp" } else { "pppoe" };
    let wan = Wan { name: "wan", device: &device, lower: &lower, proto };
    let plan = plan(&topology, wan, &settings, |name| name == inner)
        .map_err(|reason| reason.to_string())?;
    let mut kernel = Client::open(Protocol::Route)?;
    let applied = apply(&mut kernel, &plan, None).map_err(|failure| failure.reason.to_string())?;
    println!("{applied:?}");
    Ok(())
}
