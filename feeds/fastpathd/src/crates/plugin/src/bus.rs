// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of other objects on ubus. Failed calls are not retried here.

use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use ubus::{CallError, ConnectError, Connection, Handle, Status};

use crate::map::Map;

/// Timeout of a call, well below the 30 s after which rpcd kills this program.
const TIMEOUT: Duration = Duration::from_secs(10);

pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Map, BusError>> + 'a>>;

/// Target of calls: ubusd, or the stand-in of a test.
pub trait Callee {
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        timeout: Duration,
    ) -> Calling<'a>;
}

/// The bus. Connects at the first call.
#[derive(Clone)]
pub struct Bus(Rc<dyn Callee>);

struct Socket {
    path: PathBuf,
    connection: RefCell<Option<Connection>>,
}

#[derive(Debug, thiserror::Error)]
pub enum BusError {
    #[error("{}{}", .0, cause(.0))]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Call(#[from] CallError),
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

    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        Self::of(Rc::new(Socket { path: socket, connection: RefCell::default() }))
    }

    #[must_use]
    pub fn of(callee: Rc<dyn Callee>) -> Self {
        Self(callee)
    }

    /// Calls a method with a timeout of 10 s.
    pub async fn call(&self, path: &str, method: &str, args: &Map) -> Result<Map, BusError> {
        self.call_within(path, method, args, TIMEOUT).await
    }

    pub async fn call_within(
        &self,
        path: &str,
        method: &str,
        args: &Map,
        timeout: Duration,
    ) -> Result<Map, BusError> {
        self.0.call(path, method, args, timeout).await
    }
}

impl Callee for Socket {
    fn call<'a>(
        &'a self,
        path: &'a str,
        method: &'a str,
        args: &'a Map,
        timeout: Duration,
    ) -> Calling<'a> {
        Box::pin(async move { Ok(self.handle().await?.call(path, method, args, timeout).await?) })
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
