// SPDX-License-Identifier: GPL-2.0-or-later
//! HTTP client and parser of recorded responses.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }

    /// Parses a recorded response; its chunks are already joined.
    pub(crate) fn recorded(text: &str) -> Answer {
        let text = text.replace("\r\n", "\n");
        let (head, body) = text.split_once("\n\n").unwrap();
        let mut lines = head.lines().map(str::to_owned);
        let status = lines.next().unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        Answer { status, headers: headers.collect(), body: body.to_owned() }
    }
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: router\r\nContent-Length: {length}\r\n");
    format!("{head}{headers}\r\n{body}")
}

pub(crate) fn send(address: &str, text: &str) -> Answer {
    let mut stream = connect(address);
    // A server may reject a large body before it is complete.
    let _ = stream.write_all(text.as_bytes());
    read(&mut BufReader::new(stream), usize::MAX)
}

/// Reads a response, but at most `chunks` chunks.
pub(crate) fn read(stream: &mut impl BufRead, chunks: usize) -> Answer {
    let mut answer = Answer::default();
    let line = |stream: &mut dyn BufRead| {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    answer.status = line(stream);
    loop {
        let header = line(stream);
        let Some((name, value)) = header.split_once(':') else { break };
        answer.headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut body = Vec::new();
    if let Some(length) = answer.header("content-length") {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).unwrap();
    } else if answer.header("transfer-encoding").is_some() {
        for _ in 0..chunks {
            let length = usize::from_str_radix(&line(stream), 16).unwrap();
            let start = body.len();
            body.resize(start + length, 0);
            stream.read_exact(&mut body[start..]).unwrap();
            line(stream);
            if length == 0 {
                break;
            }
        }
    }
    answer.body = String::from_utf8(body).unwrap();
    answer
}
