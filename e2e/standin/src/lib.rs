// SPDX-License-Identifier: GPL-2.0-or-later
//! Stand-in for ubusd, rpcd, netifd and uhttpd, so that daemon and page run in the lab without
//! OpenWrt. `tests/it/contract.rs` compares its answers with recordings of the originals.
//!
//! A single-threaded process. [`broker`] is the bus; [`objects`], [`plugins`] and [`http`] are its
//! clients. `objects` publishes `session`, `uci`, `file`, `rpc-sys`, `system`, `service`, `log` and
//! netifd's objects; `plugins` publishes executables; `http` serves the web.

mod accounts;
pub mod broker;
pub mod client;
pub mod devices;
mod errors;
pub mod exec;
pub mod file;
pub mod http;
mod json;
pub mod network;
pub mod objects;
pub mod options;
mod pattern;
pub mod plugins;
mod random;
mod reload;
mod reply;
pub mod routes;
pub mod rpcsys;
pub mod service;
pub mod session;
pub mod syslog;
pub mod system;
pub mod uci;
pub mod wireless;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use options::Options;
use tokio::sync::oneshot;

pub use errors::chain;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("offering the bus")]
    Bus(#[from] broker::ServeError),
    #[error("making the folder {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("answering for rpcd")]
    Objects(#[from] objects::ServeError),
    #[error("connecting the web server to the bus")]
    Gateway(#[from] ubus::ConnectError),
    #[error("answering for uhttpd")]
    Web(#[from] http::ServeError),
}

/// Runs until a required socket or connection is lost. Needs a local task set. `ready` gets the web
/// server's address once everything answers.
///
/// # Errors
/// Returns an error if a socket cannot be created or the bus is lost.
pub async fn run(
    options: Options,
    ready: oneshot::Sender<SocketAddr>,
) -> Result<Infallible, RunError> {
    let acl = broker::Acl::read(&options.ubus_acl);
    let broker = broker::Broker::new(acl, Box::new(random::number));
    let _bus = broker::Server::listen(&options.ubus_socket, broker)?;
    let Options { ubus_socket, listen, www, shadow, acl, config, run, staged, .. } = options;
    let plugins = plugins::Plugins { folder: options.plugins, limit: options.exec_limit };
    std::fs::create_dir_all(&run)
        .map_err(|source| RunError::Folder { path: run.clone(), source })?;
    let store = uci::Store { config: config.clone(), run, staged };
    let accounts = session::Accounts { config, shadow, acl };
    let procd = objects::Procd {
        reload: options.reload_command,
        event: options.event_command,
        limit: options.exec_limit,
    };
    let log = syslog::Log::new(options.syslog.as_deref(), options.logs);
    let parts = objects::Parts { down: options.down, radios: options.radios, log, procd };
    let mut objects = objects::Objects::new(accounts, store, parts);
    let (published, all_published) = oneshot::channel();
    let (plugged, all_plugged) = oneshot::channel();
    let web = async {
        // Web clients may call immediately, so wait until all objects exist. Failures of publishing
        // end the other branches.
        if all_published.await.is_err() || all_plugged.await.is_err() {
            return std::future::pending().await;
        }
        let gateway = http::Gateway::open(ubus_socket.clone()).await?;
        let server = http::Server::listen(listen, gateway, www).await?;
        // Ignore a dropped receiver.
        let _ = ready.send(server.address()?);
        Ok(server.serve().await)
    };
    tokio::select! {
        outcome = objects.serve(&ubus_socket, published) => Ok(outcome?),
        outcome = plugins.serve(&ubus_socket, plugged) => Ok(outcome?),
        outcome = web => outcome,
    }
}
