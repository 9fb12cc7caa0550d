// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures the round trip to a DNS server, without privileges.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;

const TIMEOUT: Duration = Duration::from_secs(2);
const PORT: u16 = 53;
/// Question for the address of `localhost`, which a resolver answers itself (RFC 6761). The ID is
/// before it.
const QUESTION: &[u8] = b"\x01\0\0\x01\0\0\0\0\0\0\x09localhost\0\0\x01\0\x01";

/// Returns the round trip of a question through `device`, or `None` without an answer in time.
pub(crate) async fn round_trip(device: &str, server: IpAddr) -> io::Result<Option<Duration>> {
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = tokio::net::UdpSocket::bind((any, 0)).await?;
    socket.bind_device(Some(device.as_bytes()))?;
    socket.connect((server, PORT)).await?;
    let socket = socket.into_std()?;
    // A thread wakes at the answer, and the daemon's loop may be busy for milliseconds.
    spawn_blocking(move || ask(&socket)).await.map_err(io::Error::other)?
}

fn ask(socket: &UdpSocket) -> io::Result<Option<Duration>> {
    socket.set_nonblocking(false)?;
    let random = RandomState::new().hash_one(0).to_le_bytes();
    let id = &random[..2];
    let began = Instant::now();
    socket.send(&[id, QUESTION].concat())?;
    let mut answer = [0; 512];
    loop {
        let left = TIMEOUT.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
        let received = socket.recv(&mut answer);
        let passed = began.elapsed();
        match received {
            Ok(len) if len > 2 && answer.starts_with(id) && answer[2] & 0x80 != 0 => {
                return Ok(Some(passed));
            }
            Ok(_) => {}
            // The server has no resolver, but it has answered.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(Some(passed)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [one, other] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        (one, other)
    }

    #[test]
    fn an_answer_has_the_id_of_the_question() {
        let (client, server) = pair();
        let serving = std::thread::spawn(move || {
            let mut question = [0; 64];
            let (len, from) = server.recv_from(&mut question).unwrap();
            assert_eq!(&question[2..len], QUESTION);
            std::thread::sleep(Duration::from_millis(30));
            let mut answer = question;
            // The question itself, and an answer to another one.
            server.send_to(&answer[..len], from).unwrap();
            answer[2] |= 0x80;
            answer[0] ^= 1;
            server.send_to(&answer[..len], from).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            answer[0] ^= 1;
            server.send_to(&answer[..len], from).unwrap();
        });
        let round_trip = ask(&client).unwrap().unwrap();
        assert!(round_trip >= Duration::from_millis(60) && round_trip < TIMEOUT, "{round_trip:?}");
        serving.join().unwrap();
    }

    #[test]
    fn a_closed_port_answers_and_silence_is_none() {
        let (client, server) = pair();
        assert_eq!(ask(&client).unwrap(), None);
        drop(server);
        assert!(ask(&client).unwrap().unwrap() < TIMEOUT);
    }
}
