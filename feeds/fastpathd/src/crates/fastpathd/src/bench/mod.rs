// SPDX-License-Identifier: GPL-2.0-or-later
//! Gateways for `./build.sh bench fleet`: the daemon's core and exporters are real; kernel and
//! traffic are simulated, with known totals.
//!
//! All gateways run in one process, each with its own observation domain and HTTP port.

mod exposition;
mod gateway;
mod http;
mod traffic;

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::process;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use ::gateway::event::Event;
use gateway::Gateway;
use tokio::net::TcpListener;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::sys::task::spawn_local;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct Options {
    /// Number of gateways. Their observation domains are 1 to this number.
    pub gateways: u32,
    pub flows: usize,
    pub collector: SocketAddr,
    pub active_s: u32,
    pub idle_s: u32,
}

type Shared = Rc<RefCell<Gateway>>;

/// Runs until end of standard input. Prints the ports of the gateways on one line.
pub fn run(options: &Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, start(options))
}

async fn start(options: &Options) -> io::Result<()> {
    let mut ports = Vec::new();
    for domain in 1..=options.gateways {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        ports.push(listener.local_addr()?.port().to_string());
        let (gateway, events) = Gateway::new(domain, options);
        let gateway = Rc::new(RefCell::new(gateway));
        // Spread the ticks of the gateways over a second.
        let offset = SECOND * (domain - 1) / options.gateways;
        spawn_local(live(gateway.clone(), events, offset));
        spawn_local(http::serve(gateway, listener));
    }
    writeln!(io::stdout(), "{}", ports.join(" "))?;
    thread::spawn(|| {
        // End of input or a read failure means that the parent has ended.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0)
    });
    std::future::pending().await
}

async fn live(gateway: Shared, mut events: Receiver<Event>, offset: Duration) {
    let mut second = interval_at(Instant::now() + offset, SECOND);
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(event) = events.recv() => gateway.borrow_mut().event(event),
            _ = second.tick() => gateway.borrow_mut().second(),
        }
    }
}
