// SPDX-License-Identifier: GPL-2.0-or-later
//! Bodies and headers of responses, in uhttpd's format.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

pub(crate) const JSON: &str = "application/json";
/// Seconds after which an idle connection is closed; sent in `Keep-Alive`.
pub(crate) const IDLE_S: u64 = 20;
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

pub(crate) enum Payload {
    /// A complete body with `Content-Length`.
    Sized(Option<Bytes>),
    /// A complete body as one chunk, as uhttpd sends generated answers.
    Chunk(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Payload::Sized(bytes) | Payload::Chunk(bytes) => Poll::Ready(bytes.take()),
            Payload::Stream(chunks) => chunks.poll_recv(cx),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Payload::Sized(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Sized(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            _ => SizeHint::default(),
        }
    }
}

fn answer(status: StatusCode, payload: Payload) -> Response<Payload> {
    let mut response = Response::new(payload);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Keep-Alive"));
    headers.insert(KEEP_ALIVE, HeaderValue::from_static("timeout=20"));
    response
}

pub(crate) fn with_type(mut response: Response<Payload>, kind: &'static str) -> Response<Payload> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A generated JSON document.
pub(crate) fn json(text: String) -> Response<Payload> {
    let payload = Payload::Chunk(Some(Bytes::from(text)));
    with_type(answer(StatusCode::OK, payload), JSON)
}

pub(crate) fn events(chunks: mpsc::Receiver<Bytes>) -> Response<Payload> {
    with_type(answer(StatusCode::OK, Payload::Stream(chunks)), "text/event-stream")
}

pub(crate) fn is_events(response: &Response<Payload>) -> bool {
    matches!(response.body(), Payload::Stream(_))
}

/// An empty body in chunked encoding.
pub(crate) fn empty_chunks(status: StatusCode) -> Response<Payload> {
    answer(status, Payload::Chunk(None))
}

pub(crate) fn sized(status: StatusCode, bytes: Vec<u8>) -> Response<Payload> {
    answer(status, Payload::Sized(Some(Bytes::from(bytes)).filter(|bytes| !bytes.is_empty())))
}

pub(crate) fn error_page(status: StatusCode, text: &str) -> Response<Payload> {
    let title = status.canonical_reason().unwrap_or_default();
    let page = format!("<h1>{title}</h1>{text}");
    with_type(sized(status, page.into_bytes()), "text/html")
}

/// Makes the server close the connection after this response.
pub(crate) fn closing(mut response: Response<Payload>) -> Response<Payload> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response.headers_mut().remove(KEEP_ALIVE);
    response
}
