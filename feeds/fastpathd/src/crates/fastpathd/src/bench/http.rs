// SPDX-License-Identifier: GPL-2.0-or-later
//! HTTP server of a gateway, with a connection per request. `/metrics` is for scrapes; the bench
//! also uses `/answer` (method `metrics`), `/report` (totals) and `/stop` (end all connections).

use std::io;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Shared;
use crate::sys::task::spawn_local;

const MAX_REQUEST: usize = 4096;

pub(super) async fn serve(gateway: Shared, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let gateway = gateway.clone();
        spawn_local(async move {
            let _ = answer(&gateway, stream).await;
        });
    }
}

async fn answer(gateway: &Shared, mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < MAX_REQUEST {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let body = match path.split('?').next().unwrap_or_default() {
        "/metrics" => Some(scraped(gateway)),
        "/answer" => Some(json(&gateway.borrow_mut().metrics())),
        "/report" => Some(json(&gateway.borrow_mut().report())),
        "/stop" => {
            gateway.borrow_mut().stop();
            Some(String::new())
        }
        _ => None,
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let kind = "Content-Type: text/plain; version=0.0.4";
    let head = format!("HTTP/1.0 {status}\r\n{kind}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.unwrap_or_default().as_bytes()).await?;
    stream.shutdown().await
}

/// Returns the text of a scrape, with the lines that the real exporter adds.
fn scraped(gateway: &Shared) -> String {
    let text = gateway.borrow_mut().scraped();
    let name = "node_scrape_collector";
    let collector = r#"{collector="fastpath"}"#;
    format!("{name}_duration_seconds{collector} 0.001\n{name}_success{collector} 1\n{text}")
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
