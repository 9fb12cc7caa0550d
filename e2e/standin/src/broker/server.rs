// SPDX-License-Identifier: GPL-2.0-or-later
//! The broker's socket, with a reader and a writer task for each client.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use ubus::{Decoder, Frame};

use super::core::Broker;

/// Maximum bytes queued for a client. A client that exceeds this limit is disconnected.
const MAX_UNSENT: usize = 4 * ubus::MAX_MESSAGE;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("making the folder {} for the ubus socket", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("listening on the ubus socket {}", path.display())]
    Listen { path: PathBuf, source: io::Error },
}

struct Mailbox {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes queued and not yet written.
    waiting: Rc<RefCell<usize>>,
    reader: Option<JoinHandle<()>>,
}

struct Hub {
    broker: Broker,
    mailboxes: HashMap<u32, Mailbox>,
}

/// The bus on its socket. Dropping it closes the socket and all connections.
pub struct Server {
    hub: Rc<RefCell<Hub>>,
    accepting: JoinHandle<()>,
    path: PathBuf,
}

impl Server {
    /// Listens at `path`, replacing a stale socket. Needs a local task set.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created.
    pub fn listen(path: &Path, broker: Broker) -> Result<Server, ServeError> {
        let listener = bind(path)?;
        let hub = Rc::new(RefCell::new(Hub { broker, mailboxes: HashMap::new() }));
        let accepting = tokio::task::spawn_local(accept(listener, Rc::clone(&hub)));
        Ok(Server { hub, accepting, path: path.to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        let mailboxes = std::mem::take(&mut self.hub.borrow_mut().mailboxes);
        for reader in mailboxes.into_values().filter_map(|mailbox| mailbox.reader) {
            reader.abort();
        }
        // If this fails, the next server replaces the socket.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn bind(path: &Path) -> Result<UnixListener, ServeError> {
    let listen = |source| ServeError::Listen { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|source| ServeError::Folder { path: folder.to_owned(), source })?;
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(listen(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(listen)?;
    // Like ubusd, let everybody connect; rights depend on the client's user.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666)).map_err(listen)?;
    Ok(listener)
}

async fn accept(listener: UnixListener, hub: Rc<RefCell<Hub>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => admit(stream, &hub),
            Err(error) => {
                log::warn!("accepting a ubus client: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

fn admit(stream: UnixStream, hub: &Rc<RefCell<Hub>>) {
    let Ok(credentials) = stream.peer_cred() else { return };
    let peer = crate::accounts::peer(credentials.uid(), credentials.gid());
    let (mut source, sink) = stream.into_split();
    let (queue, inbox) = mpsc::unbounded_channel();
    let waiting = Rc::new(RefCell::new(0));
    tokio::task::spawn_local(write(sink, inbox, Rc::clone(&waiting)));
    let id = {
        let mut hub = hub.borrow_mut();
        let id = hub.broker.connect(peer);
        hub.mailboxes.insert(id, Mailbox { queue, waiting, reader: None });
        hub.deliver();
        id
    };
    let of_task = Rc::clone(hub);
    let reader = tokio::task::spawn_local(async move {
        let (mut decoder, mut bytes) = (Decoder::default(), vec![0; 16 * 1024]);
        while let Ok(len @ 1..) = source.read(&mut bytes).await {
            decoder.extend(&bytes[..len]);
            if !of_task.borrow_mut().take(id, &mut decoder) {
                break;
            }
        }
        of_task.borrow_mut().remove(id);
    });
    if let Some(mailbox) = hub.borrow_mut().mailboxes.get_mut(&id) {
        mailbox.reader = Some(reader);
    }
}

async fn write(
    mut stream: OwnedWriteHalf,
    mut inbox: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Rc<RefCell<usize>>,
) {
    while let Some(bytes) = inbox.recv().await {
        if stream.write_all(&bytes).await.is_err() {
            // The reader task also sees the closed connection and removes the client.
            return;
        }
        *waiting.borrow_mut() -= bytes.len();
    }
}

impl Hub {
    /// Handles received data. Returns false if the client must be disconnected.
    fn take(&mut self, client: u32, decoder: &mut Decoder) -> bool {
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    self.broker.receive(client, frame);
                    self.deliver();
                }
                Ok(None) => return self.mailboxes.contains_key(&client),
                Err(error) => {
                    log::warn!("a ubus client sent a malformed message: {error}");
                    return false;
                }
            }
        }
    }

    fn remove(&mut self, client: u32) {
        self.mailboxes.remove(&client);
        self.broker.disconnect(client);
        self.deliver();
    }

    fn deliver(&mut self) {
        // Disconnecting a client queues more messages, so repeat until the outbox is empty.
        loop {
            let batch = self.broker.take_outbox();
            if batch.is_empty() {
                return;
            }
            for (client, frame) in batch {
                self.post(client, &frame);
            }
        }
    }

    fn post(&mut self, client: u32, frame: &Frame) {
        let Some(mailbox) = self.mailboxes.get(&client) else { return };
        let bytes = match frame.encode() {
            Ok(bytes) => bytes,
            Err(error) => {
                log::warn!("a ubus message cannot be handed on: {error}");
                return;
            }
        };
        let waiting = *mailbox.waiting.borrow() + bytes.len();
        if waiting > MAX_UNSENT {
            log::warn!("a ubus client left {waiting} bytes unread and is disconnected");
            if let Some(reader) = &mailbox.reader {
                reader.abort();
            }
            self.mailboxes.remove(&client);
            self.broker.disconnect(client);
            return;
        }
        *mailbox.waiting.borrow_mut() = waiting;
        // If the writer has ended, the reader is about to remove the client.
        let _ = mailbox.queue.send(bytes);
    }
}
