// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of other objects on ubus. Nothing is retried here; the daemon retries in crate
//! `fastpathd`, `bus/repeat.rs`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use ubus::{CallError, ConnectError, Connection, Handle, Status};

use crate::map::Map;

/// Timeout of a call. The called objects answer at once, and rpcd kills a program after 30 s.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pending answer to a call.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Map, BusError>> + 'a>>;

/// Answers calls of methods: ubusd or a test.
pub trait Callee {
    /// Calls a method and waits at most `patience` for its answer.
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        patience: Duration,
    ) -> Calling<'a>;
}

/// The bus. Connects at the first call; cheap to clone.
#[derive(Clone)]
pub struct Bus(Rc<dyn Callee>);

struct Socket {
    path: PathBuf,
    connection: RefCell<Option<Connection>>,
}

/// A call without a usable answer.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// ubusd cannot be reached.
    #[error("{}{}", .0, cause(.0))]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Call(#[from] CallError),
    /// rpcd did not create a session.
    #[error("session create: the answer has no session")]
    NoSession,
}

fn cause(error: &dyn std::error::Error) -> String {
    error.source().map(|cause| format!(": {cause}")).unwrap_or_default()
}

impl BusError {
    /// Returns the closest ubus status.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            BusError::Connect(_) => Status::ConnectionFailed,
            BusError::Call(error) => error.status(),
            BusError::NoSession => Status::NoData,
        }
    }

    /// Returns whether the call may have been executed although its answer is missing.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        match self {
            BusError::Call(
                CallError::Timeout { .. }
                | CallError::Disconnected { .. }
                | CallError::Answer { .. },
            ) => true,
            BusError::Call(CallError::Status { status, .. }) => *status == Status::Timeout,
            BusError::Call(CallError::Arguments { .. })
            | BusError::Connect(_)
            | BusError::NoSession => false,
        }
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::at(PathBuf::from(ubus::SOCKET))
    }
}

impl Bus {
    /// Returns the bus at the socket of `UBUS_SOCKET`, or at ubusd's default socket.
    #[must_use]
    pub fn from_environment() -> Self {
        std::env::var_os("UBUS_SOCKET").map_or_else(Self::default, |path| Self::at(path.into()))
    }

    /// Returns the bus at a socket.
    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        Self::of(Rc::new(Socket { path: socket, connection: RefCell::default() }))
    }

    /// Returns a bus with calls answered by `callee`.
    #[must_use]
    pub fn of(callee: Rc<dyn Callee>) -> Self {
        Self(callee)
    }

    /// Calls a method and waits at most 10 s for its answer.
    ///
    /// # Errors
    /// See [`BusError`].
    pub async fn call(&self, path: &str, method: &str, args: &Map) -> Result<Map, BusError> {
        self.call_within(path, method, args, TIMEOUT).await
    }

    /// Calls a method and waits at most `patience` for its answer.
    ///
    /// # Errors
    /// See [`BusError`].
    pub async fn call_within(
        &self,
        path: &str,
        method: &str,
        args: &Map,
        patience: Duration,
    ) -> Result<Map, BusError> {
        self.0.call(path, method, args, patience).await
    }
}

impl Callee for Socket {
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        patience: Duration,
    ) -> Calling<'a> {
        Box::pin(async move { Ok(self.handle().await?.call(path, method, args, patience).await?) })
    }
}

impl Socket {
    async fn handle(&self) -> Result<Handle, ConnectError> {
        let known = self.connection.borrow().as_ref().map(Connection::handle);
        if let Some(handle) = known {
            return Ok(handle);
        }
        let connection = Connection::open(&self.path).await?;
        let handle = connection.handle();
        *self.connection.borrow_mut() = Some(connection);
        Ok(handle)
    }
}
