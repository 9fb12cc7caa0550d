// SPDX-License-Identifier: GPL-2.0-or-later
//! A ubus client in Rust: codec, calls, and published objects, on the socket of `OpenWrt`'s ubusd.
//!
//! A [`Connection`] spawns a task that owns the socket, so that a program can wait for its own call
//! while calls from other programs queue up. [`Connection::next`] returns incoming messages, and
//! [`Handle`]s call, publish and notify. When the connection ends, `next` returns the reason and
//! open calls fail. The owner then has to reconnect and publish again.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use ubus::{Connection, Incoming, Map, Method, Object, PolicyType, Status};
//!
//! const METHODS: &[Method] = &[Method {
//!     name: "status",
//!     policy: &[("verbose", PolicyType::Bool), ("ubus_rpc_session", PolicyType::String)],
//! }];
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = Connection::open(Path::new(ubus::SOCKET)).await?;
//! let bus = connection.handle();
//! bus.publish(Object { path: "fastpath".into(), methods: METHODS }).await?;
//!
//! let mut args = Map::new();
//! args.insert("config".into(), "fastpath".into());
//! let config = bus.call("uci", "get", &args, Duration::from_secs(3)).await?;
//! println!("{} sections", config["values"].as_object().map_or(0, Map::len));
//!
//! let mut tick = tokio::time::interval(Duration::from_secs(1));
//! let mut watched = false;
//! loop {
//!     tokio::select! {
//!         incoming = connection.next() => match incoming? {
//!             Incoming::Invoke(request) => match request.method.as_str() {
//!                 "status" => request.reply.data(&Map::new())?,
//!                 _ => request.reply.status(Status::NotSupported),
//!             },
//!             Incoming::Subscribers { active, .. } => watched = active,
//!             _ => {}
//!         },
//!         _ = tick.tick(), if watched => bus.notify("fastpath", "tick", &Map::new())?,
//!     }
//! }
//! # }
//! ```
//!
//! [`Frame`], [`Decoder`], [`Blobmsg`] and [`protocol`] are public for tests and brokers.

mod blob;
mod blobmsg;
mod connection;
mod error;
mod frame;
mod handle;
mod object;
mod pace;
pub mod protocol;
mod serializer;
mod status;
mod value_type;
mod weight;

pub use blobmsg::{Blobmsg, Field};
pub use connection::{Connection, Incoming, Reply, Request};
pub use error::{CallError, ConnectError, ConnectionError, DecodeError, EncodeError};
pub use frame::{Attribute, Decoder, Frame, Kind, MAX_MESSAGE};
pub use handle::{Entry, Handle};
pub use object::{Argument, Method, Object, PolicyType};
pub use status::Status;
pub use value_type::MAX_DEPTH;

/// Arguments of a method, an answer, or the content of a notification.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// Socket of ubusd on `OpenWrt`.
pub const SOCKET: &str = "/var/run/ubus/ubus.sock";
