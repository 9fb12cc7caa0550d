// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects on ubus without a daemon: rpcd runs a program for each call.
//!
//! rpcd starts each program of `/usr/libexec/rpcd` with `list`, and publishes an object with the
//! file's name and the printed methods. For a call, rpcd runs `call METHOD` with the arguments as
//! JSON on standard input, and reads one JSON object from standard output. A program cannot set the
//! ubus status, so a refusal is an answer, too (see [`Refusal`]). rpcd kills a program after its
//! option `timeout` (30 s on `OpenWrt`).
//!
//! ```no_run
//! use plugin::{Call, Method, Object, Refusal, Sample};
//!
//! async fn greet(call: Call) -> Result<plugin::Map, Refusal> {
//!     let name = call.text("name")?.unwrap_or("you");
//!     Ok(plugin::map([("text", format!("good day, {name}").into())]))
//! }
//!
//! const GREETER: Object = Object {
//!     name: "greeter",
//!     methods: &[Method {
//!         name: "greet",
//!         args: &[("name", Sample::Text)],
//!         run: |call| Box::pin(greet(call)),
//!     }],
//! };
//!
//! fn main() -> std::process::ExitCode {
//!     plugin::main("greeter", std::env::args_os(), &[&GREETER], &[])
//! }
//! ```

mod bus;
mod call;
mod map;
mod object;
pub mod process;
mod program;
mod reason;
mod session;

pub use bus::{Bus, BusError, Callee, Calling};
pub use call::{Call, Origin, Refusal, SESSION};
pub use map::{Map, map};
pub use object::{Answer, Method, Object, Sample};
pub use program::{Subcommand, main};
pub use reason::CallReason;
pub use session::{Rights, UciSession};
