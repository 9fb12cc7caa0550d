// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of other objects, within a time.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ubus::{CallError, ConnectError, Connection, Handle, Status};

use crate::object::Map;

/// The objects called answer at once; rpcd gives a program 30 s in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// The way to the bus. Connects with the first call; cheap to clone.
#[derive(Clone)]
pub struct Bus {
    socket: PathBuf,
    connection: Rc<RefCell<Option<Connection>>>,
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
        Self { socket, connection: Rc::default() }
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
        Ok(self.handle().await?.call(path, method, args, patience).await?)
    }

    async fn handle(&self) -> Result<Handle, ConnectError> {
        let known = self.connection.borrow().as_ref().map(Connection::handle);
        if let Some(handle) = known {
            return Ok(handle);
        }
        let connection = Connection::open(&self.socket).await?;
        let handle = connection.handle();
        *self.connection.borrow_mut() = Some(connection);
        Ok(handle)
    }
}
