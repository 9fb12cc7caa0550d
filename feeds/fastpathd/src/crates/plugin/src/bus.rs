// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of other objects on ubus: 10 s for each unless stated, none is repeated (the daemon's are,
//! in crate `fastpathd`, `bus/repeat.rs`); which ubus status an error has, and whether the call
//! may have been carried out.

use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use ubus::{CallError, ConnectError, Connection, Handle, Status};

use crate::map::Map;

/// The objects called answer at once; rpcd gives a program 30 s in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// A call under way.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Map, BusError>> + 'a>>;

/// Answers calls of methods: ubusd, or a test.
pub trait Callee {
    /// Calls a method and waits for its answer, `patience` at most.
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        patience: Duration,
    ) -> Calling<'a>;
}

/// The bus. Connects with the first call; cheap to clone.
#[derive(Clone)]
pub struct Bus(Rc<dyn Callee>);

/// ubusd at its socket.
struct Socket {
    path: PathBuf,
    connection: RefCell<Option<Connection>>,
}

/// A call that got no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// There is no ubusd.
    #[error("{}{}", .0, cause(.0))]
    Connect(#[from] ConnectError),
    /// The call failed.
    #[error("{0}")]
    Call(#[from] CallError),
    /// rpcd made no session.
    #[error("session create: the answer has no session")]
    NoSession,
}

fn cause(error: &dyn std::error::Error) -> String {
    error.source().map(|cause| format!(": {cause}")).unwrap_or_default()
}

impl BusError {
    /// The ubus status that says about the same.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            BusError::Connect(_) => Status::ConnectionFailed,
            BusError::Call(error) => error.status(),
            BusError::NoSession => Status::NoData,
        }
    }

    /// Whether the call may have been carried out: nobody said that it was not.
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
    /// ubusd's own socket, or the one that the environment's `UBUS_SOCKET` names.
    #[must_use]
    pub fn from_environment() -> Self {
        std::env::var_os("UBUS_SOCKET").map_or_else(Self::default, |path| Self::at(path.into()))
    }

    /// The bus at a socket.
    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        Self::of(Rc::new(Socket { path: socket, connection: RefCell::default() }))
    }

    /// A bus on which this one answers.
    #[must_use]
    pub fn of(callee: Rc<dyn Callee>) -> Self {
        Self(callee)
    }

    /// Calls a method and waits for its answer, 10 s at most.
    ///
    /// # Errors
    /// See [`BusError`].
    pub async fn call(&self, path: &str, method: &str, args: &Map) -> Result<Map, BusError> {
        self.call_within(path, method, args, PATIENCE).await
    }

    /// As [`Bus::call`], with another time.
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
