// SPDX-License-Identifier: GPL-2.0-or-later
//! Gateways for `./build.sh bench fleet`: the daemon's core, exporters and answer of `metrics` are
//! real; the kernel and its traffic are made up, with known sums.
//!
//! All gateways run in one process. Each has an observation domain and a port of `http.rs`.

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

/// The gateways and their collector.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of gateways; their observation domains are 1 to this number.
    pub gateways: u32,
    /// Simultaneous connections of each gateway.
    pub flows: usize,
    /// Address that flow records are sent to.
    pub collector: SocketAddr,
    /// Option `active_timeout`, in seconds.
    pub active_s: u32,
    /// Option `idle_timeout`, in seconds.
    pub idle_s: u32,
}

type Shared = Rc<RefCell<Gateway>>;

/// Runs until standard input ends. Prints the ports of the gateways on one line.
///
/// # Errors
/// A socket cannot be opened, or standard output is closed.
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
        // Like many routers, the gateways begin their seconds at different times.
        let offset = SECOND * (domain - 1) / options.gateways;
        spawn_local(live(gateway.clone(), events, offset));
        spawn_local(http::serve(gateway, listener));
    }
    writeln!(io::stdout(), "{}", ports.join(" "))?;
    thread::spawn(|| {
        // The end of input, or a failure to read, means that the parent has ended.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0)
    });
    std::future::pending().await
}

/// Runs the daemon's loop for one gateway.
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
