// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands for Redis and its replies (RESP): `AUTH` or `PING` first, then one command for each
//! event. Redis answers each of them, in their order.

use std::fmt;

use ips::EventLine;

use crate::line;
use crate::settings::Password;

config::named! {
    /// How Redis keeps events.
    #[derive(Default)]
    pub enum Keeping from text {
        /// At the end of a list, until a program takes them.
        #[default]
        List = "list",
        /// Not at all: those who subscribe to the channel get them.
        Channel = "channel",
    }
}

/// Where events go in Redis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redis {
    /// Name of the list or channel.
    pub key: String,
    /// Which of the two it is.
    pub keeping: Keeping,
    /// User of Redis' access list; none: the default one.
    pub username: Option<String>,
    /// Its password; none: Redis needs none.
    pub password: Option<Password>,
}

/// The first command: Redis answers it with an error if it would refuse the others.
pub fn greeting(redis: &Redis, out: &mut Vec<u8>) {
    out.clear();
    match (&redis.username, &redis.password) {
        (Some(user), Some(Password(password))) => {
            write(&[b"AUTH", user.as_bytes(), password.as_bytes()], out);
        }
        (None, Some(Password(password))) => write(&[b"AUTH", password.as_bytes()], out),
        (_, None) => write(&[b"PING"], out),
    }
}

/// The command for an event; replaces `out`.
pub fn command(redis: &Redis, event: &EventLine, host: Option<&str>, out: &mut Vec<u8>) {
    let mut text = Vec::with_capacity(event.text.len() + 64);
    line::write(event, host, &mut text);
    let verb: &[u8] = match redis.keeping {
        Keeping::List => b"RPUSH",
        Keeping::Channel => b"PUBLISH",
    };
    out.clear();
    write(&[verb, redis.key.as_bytes(), &text], out);
}

/// An array of strings, each with its length.
fn write(parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend(format!("*{}\r\n", parts.len()).bytes());
    for part in parts {
        out.extend(format!("${}\r\n", part.len()).bytes());
        out.extend(*part);
        out.extend(b"\r\n");
    }
}

/// A reply that ends the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisFault {
    /// The text of an error, shortened, without the password.
    Rejected(String),
    /// It is not a reply to these commands.
    Foreign,
}

/// Bytes of an error that are shown.
const SHOWN: usize = 200;
/// Longest reply. The errors of Redis are shorter.
const LONGEST: usize = 4096;

/// Reads replies, however they are cut.
#[derive(Default)]
pub struct Replies {
    begun: Vec<u8>,
}

impl Replies {
    /// How many commands these bytes confirm.
    ///
    /// # Errors
    /// Redis has refused a command, or this is not Redis. Replies before are counted in
    /// `confirmed`.
    pub fn read(
        &mut self,
        bytes: &[u8],
        password: Option<&Password>,
        confirmed: &mut usize,
    ) -> Result<(), RedisFault> {
        for byte in bytes {
            if *byte != b'\n' {
                self.begun.push(*byte);
                if self.begun.len() > LONGEST || !b"+-:".contains(&self.begun[0]) {
                    return Err(RedisFault::Foreign);
                }
                continue;
            }
            let reply = std::mem::take(&mut self.begun);
            match reply.strip_suffix(b"\r").and_then(|reply| reply.split_first()) {
                Some((b'+' | b':', _)) => *confirmed += 1,
                Some((_, text)) => return Err(RedisFault::Rejected(shown(text, password))),
                None => return Err(RedisFault::Foreign),
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A reply may repeat the password.
        f.debug_struct("Replies").field("begun", &self.begun.len()).finish()
    }
}

/// Redis repeats the arguments of an unknown command, cut at 128 bytes. They may contain a part of
/// the password.
const ARGUMENTS: &str = ", with args beginning with";

/// An error may repeat its command.
fn shown(text: &[u8], password: Option<&Password>) -> String {
    let text = String::from_utf8_lossy(text);
    let mut text = text.split(ARGUMENTS).next().unwrap_or_default().to_owned();
    if let Some(Password(password)) = password {
        text = text.replace(password.as_str(), config::secret::MASK);
    }
    text.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use ips::EventKind;

    use super::*;

    fn redis(username: Option<&str>, password: Option<&str>) -> Redis {
        Redis {
            key: "suricata".to_owned(),
            keeping: Keeping::List,
            username: username.map(str::to_owned),
            password: password.map(|text| Password(text.to_owned())),
        }
    }

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn an_event_is_one_command() {
        let line = "{\"a\":\"\u{e4}\"}".as_bytes();
        let line = EventLine { kind: EventKind::Alert, text: line.into() };
        let written = text(|out| command(&redis(None, None), &line, None, out));
        let expected = "*3\r\n$5\r\nRPUSH\r\n$8\r\nsuricata\r\n$10\r\n{\"a\":\"\u{e4}\"}\r\n";
        assert_eq!(written, expected);
        let channel = Redis { keeping: Keeping::Channel, ..redis(None, None) };
        let written = text(|out| command(&channel, &line, Some("gw1"), out));
        let object = "{\"host\":\"gw1\",\"a\":\"\u{e4}\"}";
        let expected = format!("*3\r\n$7\r\nPUBLISH\r\n$8\r\nsuricata\r\n$23\r\n{object}\r\n");
        assert_eq!(written, expected);
    }

    #[test]
    fn the_first_command_logs_in() {
        let first = |redis: Redis| text(|out| greeting(&redis, out));
        assert_eq!(first(redis(None, None)), "*1\r\n$4\r\nPING\r\n");
        assert_eq!(first(redis(None, Some("a b"))), "*2\r\n$4\r\nAUTH\r\n$3\r\na b\r\n");
        let user = first(redis(Some("gw"), Some("pw")));
        assert_eq!(user, "*3\r\n$4\r\nAUTH\r\n$2\r\ngw\r\n$2\r\npw\r\n");
    }

    #[test]
    fn replies_are_read_however_they_are_cut() {
        for size in 1..8 {
            let (mut replies, mut confirmed) = (Replies::default(), 0);
            for part in b"+PONG\r\n:1\r\n:22\r\n".chunks(size) {
                assert_eq!(replies.read(part, None, &mut confirmed), Ok(()));
            }
            assert_eq!(confirmed, 3);
        }
    }

    #[test]
    fn an_error_is_shown_without_the_password() {
        let password = Password("geheim".to_owned());
        let (mut replies, mut confirmed) = (Replies::default(), 0);
        let bytes = b":1\r\n-ERR AUTH geheim: unknown command\r\n";
        let expected = "ERR AUTH •••: unknown command";
        let read = replies.read(bytes, Some(&password), &mut confirmed);
        assert_eq!((read, confirmed), (Err(RedisFault::Rejected(expected.to_owned())), 1));
        let long = format!("-{}\r\n", "x".repeat(3000));
        let read = Replies::default().read(long.as_bytes(), None, &mut confirmed);
        assert_eq!(read, Err(RedisFault::Rejected("x".repeat(SHOWN))));
    }

    /// Redis cuts arguments at 128 bytes.
    #[test]
    fn an_error_is_shown_without_a_part_of_the_password() {
        let password = Password("geheim-".repeat(30));
        for quote in ['\'', '`'] {
            let command = format!("ERR unknown command {quote}AUTH{quote}");
            let arguments = format!("with args beginning with: {quote}{:.128}{quote}", password.0);
            let reply = format!("-{command}, {arguments}\r\n");
            let read = Replies::default().read(reply.as_bytes(), Some(&password), &mut 0);
            assert_eq!(read, Err(RedisFault::Rejected(command)));
        }
    }

    #[test]
    fn another_protocol_is_noticed() {
        for bytes in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"+OK\n", b"\r\n", b"$3\r\n"] {
            let read = Replies::default().read(bytes, None, &mut 0);
            assert_eq!(read, Err(RedisFault::Foreign), "{bytes:?}");
        }
        let endless = vec![b'+'; LONGEST + 1];
        assert_eq!(Replies::default().read(&endless, None, &mut 0), Err(RedisFault::Foreign));
    }

    proptest::proptest! {
        #[test]
        fn no_reply_is_a_surprise(bytes: Vec<u8>) {
            let mut confirmed = 0;
            let _ = Replies::default().read(&bytes, None, &mut confirmed);
            proptest::prop_assert!(confirmed <= bytes.len());
        }
    }
}
