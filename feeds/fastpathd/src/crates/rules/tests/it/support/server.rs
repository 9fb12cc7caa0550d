// SPDX-License-Identifier: GPL-2.0-or-later
//! A minimal HTTP server for curl and wget.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Clone)]
pub(crate) enum Page {
    Whole(Vec<u8>),
    /// Declares the full length and closes after this many bytes.
    Cut(Vec<u8>, usize),
    /// Sends only the header.
    Stalled,
    /// Sends zeros until the client closes the connection.
    Endless,
    Redirect(String),
}

#[derive(Default)]
struct Shared {
    pages: HashMap<String, Page>,
    asked: Vec<String>,
}

/// HTTP server that runs until the process ends.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let server = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // Ignore errors, because some tests close the connection early.
                thread::spawn(move || answer(stream, &shared));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        self.shared.lock().expect("alive").pages.insert(path.to_owned(), page);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().expect("alive").asked)
    }
}

fn answer(mut stream: TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let page = {
        let mut shared = shared.lock().expect("alive");
        shared.asked.push(path.clone());
        shared.pages.get(&path).cloned()
    };
    let mut head = |status: &str, more: &str| {
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n")
    };
    match page {
        None => head("404 Not Found", "Content-Length: 0\r\n"),
        Some(Page::Whole(bytes)) => {
            head("200 OK", &format!("Content-Length: {}\r\n", bytes.len()))?;
            stream.write_all(&bytes)
        }
        Some(Page::Cut(bytes, count)) => {
            head("200 OK", &format!("Content-Length: {}\r\n", bytes.len()))?;
            stream.write_all(&bytes[..count])
        }
        Some(Page::Stalled) => {
            head("200 OK", "Content-Length: 1000\r\n")?;
            thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        Some(Page::Endless) => {
            head("200 OK", "")?;
            let zeros = vec![0; 1 << 16];
            while stream.write_all(&zeros).is_ok() {}
            Ok(())
        }
        Some(Page::Redirect(to)) => {
            head("302 Found", &format!("Location: {to}\r\nContent-Length: 0\r\n"))
        }
    }
}
