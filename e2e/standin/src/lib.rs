// SPDX-License-Identifier: GPL-2.0-or-later
//! A stand-in for ubusd, rpcd, netifd and uhttpd, so that the daemon and the page run unchanged
//! where there is no OpenWrt: in the lab. It is held to what the real ones were recorded to answer
//! (`tests/contract.rs`).
//!
//! One process, one thread: [`broker`] is the bus; [`objects`] is a client of it that publishes
//! `session`, `uci`, `system` and `network.interface`; [`http`] is another that lets the web in.

mod accounts;
pub mod broker;
mod errors;
pub mod http;
mod json;
pub mod network;
pub mod objects;
pub mod options;
mod pattern;
mod random;
mod reload;
mod reply;
pub mod routes;
pub mod session;
pub mod system;
pub mod uci;

use std::net::SocketAddr;

use options::Options;
use tokio::sync::oneshot;

pub use errors::chain;

/// Runs until the bus cannot be served any longer. Needs a local task set. `ready` gets the web
/// server's address once everything answers.
///
/// # Errors
/// When a socket cannot be made, or the bus is lost.
pub async fn run(
    options: Options,
    ready: oneshot::Sender<SocketAddr>,
) -> Result<(), Box<dyn std::error::Error>> {
    let acl = broker::Acl::read(&options.ubus_acl);
    let broker = broker::Broker::new(acl, Box::new(random::number));
    let _bus = broker::Server::listen(&options.ubus_socket, broker)?;
    let store = uci::Store { config: options.config.clone(), run: options.run };
    std::fs::create_dir_all(&store.run)?;
    let accounts =
        session::Accounts { config: options.config, shadow: options.shadow, acl: options.acl };
    let mut objects = objects::Objects::new(accounts, store, options.reload_command);
    let (published, all_published) = oneshot::channel();
    let web = async {
        // Whoever sees the web server may call at once.
        all_published.await?;
        let gateway = http::Gateway::open(options.ubus_socket.clone()).await?;
        let server = http::Server::listen(options.listen, gateway, options.www).await?;
        // The starter may not care.
        let _ = ready.send(server.address()?);
        match server.serve().await {}
    };
    tokio::select! {
        outcome = objects.serve(&options.ubus_socket, published) => outcome,
        outcome = web => outcome,
    }
}
