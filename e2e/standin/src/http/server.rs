// SPDX-License-Identifier: GPL-2.0-or-later
//! HTTP connections and the routing of requests.

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::body::{self, IDLE_S, Payload};
use super::gateway::Gateway;
use super::rpc::{self, Fault};
use super::{cgi, files, rest};
use crate::session::NOBODY;

/// Maximum number of connections; further clients get 503 with Retry-After.
pub const MAX_CONNECTIONS: usize = 100;
/// Maximum body of a request to `/ubus`, in bytes.
const MAX_BODY: usize = 65_536;
/// Maximum body of a request to a program (backup or image), in bytes.
const MAX_UPLOAD: usize = 64 << 20;
/// Bytes read from an oversized body before rejecting it, so that the sender gets the answer.
const MAX_DRAIN: usize = 16 * MAX_BODY;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Length: 0\r\n\r\n";

#[derive(Debug, thiserror::Error)]
#[error("listening on {address}")]
pub struct ServeError {
    address: SocketAddr,
    source: io::Error,
}

pub struct Server {
    asked: SocketAddr,
    listener: TcpListener,
    site: Rc<Site>,
}

struct Site {
    gateway: Gateway,
    www: PathBuf,
}

impl Server {
    /// Listens at `address`.
    ///
    /// # Errors
    /// Returns an error if the address is in use.
    pub async fn listen(
        address: SocketAddr,
        gateway: Gateway,
        www: PathBuf,
    ) -> Result<Server, ServeError> {
        let failed = |source| ServeError { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        Ok(Server { asked: address, listener, site: Rc::new(Site { gateway, www }) })
    }

    /// Returns the listening address with the port assigned by the kernel.
    ///
    /// # Errors
    /// Returns an error if the kernel does not report it.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        let failed = |source| ServeError { address: self.asked, source };
        self.listener.local_addr().map_err(failed)
    }

    /// Accepts connections forever. Needs a local task set.
    pub async fn serve(self) -> Infallible {
        let open = Rc::new(Cell::new(0));
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if open.get() < MAX_CONNECTIONS => {
                    let slot = Slot::take(&open);
                    let site = Rc::clone(&self.site);
                    tokio::task::spawn_local(async move {
                        if connection(stream, site).await == Ended::Subscriber {
                            // uhttpd 7b1bec4 leaks subscribers: `client_close` waits for the
                            // reference of `uh_ubus_handle_get_subscribe`.
                            std::mem::forget(slot);
                        }
                    });
                }
                Ok((stream, _)) => drop(tokio::task::spawn_local(refuse(stream))),
                Err(error) => {
                    log::warn!("accepting a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Holds a slot of [`MAX_CONNECTIONS`] until dropped.
struct Slot(Rc<Cell<usize>>);

impl Slot {
    fn take(open: &Rc<Cell<usize>>) -> Slot {
        open.set(open.get() + 1);
        Slot(Rc::clone(open))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn refuse(mut stream: TcpStream) {
    // Ignore errors: the client may already have disconnected.
    let _ = tokio::time::timeout(Duration::from_secs(1), async {
        stream.write_all(BUSY).await?;
        stream.shutdown().await
    })
    .await;
}

#[derive(PartialEq, Eq)]
enum Ended {
    Subscriber,
    Other,
}

async fn connection(stream: TcpStream, site: Rc<Site>) -> Ended {
    // Disable Nagle's algorithm; on failure, small answers are only delayed.
    let _ = stream.set_nodelay(true);
    let subscribed = Rc::new(Cell::new(false));
    let flag = Rc::clone(&subscribed);
    let service = service_fn(move |request| {
        let (site, flag) = (Rc::clone(&site), Rc::clone(&flag));
        async move {
            let response = site.answer(request).await;
            flag.set(flag.get() || body::is_events(&response));
            Ok::<_, Infallible>(response)
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(IDLE_S))
        .auto_date_header(false)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        log::debug!("a connection ended: {error}");
    }
    if subscribed.get() { Ended::Subscriber } else { Ended::Other }
}

/// Result of reading a request's body.
enum Body {
    Whole(Vec<u8>),
    TooLarge,
    Broken,
}

async fn read(mut incoming: Incoming, limit: usize) -> Body {
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else { return Body::Broken };
        let Some(data) = frame.data_ref() else { continue };
        seen += data.len();
        if seen > limit.max(MAX_DRAIN) {
            return Body::TooLarge;
        }
        if seen <= limit {
            bytes.extend_from_slice(data);
        }
    }
    if seen > limit { Body::TooLarge } else { Body::Whole(bytes) }
}

fn parse_error() -> String {
    rpc::fault(&serde_json::Value::Null, Fault::Parse).to_string()
}

impl Site {
    async fn answer(&self, request: Request<Incoming>) -> Response<Payload> {
        let path = request.uri().path().to_owned();
        match path.strip_prefix("/ubus") {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                self.ubus(request, rest).await
            }
            _ if path.starts_with("/cgi-bin/") && *request.method() == Method::POST => {
                self.program(request, &path["/cgi-bin/".len()..]).await
            }
            _ if matches!(*request.method(), Method::GET | Method::HEAD) => {
                files::get(&self.www, &path, request.headers())
            }
            _ => body::error_page(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD."),
        }
    }

    async fn program(&self, request: Request<Incoming>, name: &str) -> Response<Payload> {
        let (head, body) = request.into_parts();
        match read(body, MAX_UPLOAD).await {
            Body::Whole(bytes) => cgi::answer(&self.gateway, name, &head.headers, &bytes).await,
            Body::TooLarge | Body::Broken => body::closing(body::error_page(
                StatusCode::PAYLOAD_TOO_LARGE,
                "The request is too large.",
            )),
        }
    }

    async fn ubus(&self, request: Request<Incoming>, path: &str) -> Response<Payload> {
        let session = bearer(&request);
        match *request.method() {
            Method::OPTIONS => body::with_type(body::sized(StatusCode::OK, Vec::new()), body::JSON),
            Method::GET => match path.strip_prefix("/subscribe/") {
                Some(object) => rest::subscribe(&self.gateway, &session, object).await,
                None => match path.strip_prefix("/list") {
                    Some("") => rest::list(&self.gateway, None).await,
                    Some(object) if object.starts_with('/') => {
                        rest::list(&self.gateway, Some(&object[1..])).await
                    }
                    _ => body::empty_chunks(StatusCode::NOT_FOUND),
                },
            },
            Method::POST => {
                let body =
                    tokio::time::timeout(BODY_TIMEOUT, read(request.into_body(), MAX_BODY)).await;
                match body.unwrap_or(Body::Broken) {
                    Body::Whole(bytes) => self.post(path, &session, &bytes).await,
                    Body::TooLarge | Body::Broken => body::closing(body::json(parse_error())),
                }
            }
            _ => body::error_page(StatusCode::BAD_REQUEST, "Invalid Request"),
        }
    }

    async fn post(&self, path: &str, session: &str, bytes: &[u8]) -> Response<Payload> {
        match path.strip_prefix("/call/") {
            Some(object) => body::json(rest::call(&self.gateway, session, object, bytes).await),
            None if matches!(path, "" | "/") => body::json(rpc::answer(&self.gateway, bytes).await),
            None => body::empty_chunks(StatusCode::NOT_FOUND),
        }
    }
}

/// Returns the session of `Authorization: Bearer …`, or the default session.
fn bearer(request: &Request<Incoming>) -> String {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let session = header.and_then(|value| {
        let (scheme, session) = value.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case("Bearer ").then(|| session.to_owned())
    });
    session.unwrap_or_else(|| NOBODY.to_owned())
}
