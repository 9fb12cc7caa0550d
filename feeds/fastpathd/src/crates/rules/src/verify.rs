// SPDX-License-Identifier: GPL-2.0-or-later
//! Verifies archives by SHA-256 or by usign and signify signatures (Ed25519), and parses published
//! checksums.

use std::io::{self, Read};

use base64ct::{Base64, Encoding};
use config::Fault;
use ed25519_compact::{PublicKey, Signature};
use sha2::{Digest, Sha256};

use crate::reason::SourceReason;

/// usign or signify public key with its number.
#[derive(Debug, Clone)]
pub struct UsignKey {
    number: [u8; 8],
    key: PublicKey,
}

impl UsignKey {
    /// Parses the second line of a public key file, or the whole file.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let (number, key) = payload::<32>(text).map_err(|why| Fault::PublicKey {
            why: format!("the key is not a usign public key: {why}"),
        })?;
        Ok(Self { number, key: PublicKey::new(key) })
    }

    /// Verifies `message`, downloaded from `url`, with the contents of a signature file.
    pub fn check(
        &self,
        signature: &str,
        mut message: impl Read,
        url: &str,
    ) -> Result<(), SourceReason> {
        let url = || url.to_owned();
        let (number, bytes) = payload::<64>(signature)
            .map_err(|said| SourceReason::Form { url: url(), said: said.to_owned() })?;
        if number != self.number {
            let (expected, found) = (hex(&self.number), hex(&number));
            return Err(SourceReason::OtherKey { url: url(), expected, found });
        }
        let signature = Signature::new(bytes);
        let state = self.key.verify_incremental(&signature);
        let mut state = state.map_err(|_| SourceReason::Signature { url: url() })?;
        each_chunk(&mut message, |chunk| state.absorb(chunk))
            .map_err(|error| SourceReason::Unreadable { url: url(), said: error.to_string() })?;
        state.verify().map_err(|_| SourceReason::Signature { url: url() })
    }
}

/// Decodes the key's number and the following bytes.
fn payload<const N: usize>(text: &str) -> Result<([u8; 8], [u8; N]), &'static str> {
    let comment = |line: &&str| !line.is_empty() && !line.starts_with("untrusted comment:");
    let line = text.lines().map(str::trim).find(comment).ok_or("it is empty")?;
    let bytes = Base64::decode_vec(line).map_err(|_| "it is not base64")?;
    let rest = bytes.strip_prefix(b"Ed").ok_or("it is not for Ed25519")?;
    let (number, rest) = rest.split_first_chunk::<8>().ok_or("it is too short")?;
    let body = <[u8; N]>::try_from(rest).map_err(|_| "it has a wrong length")?;
    Ok((*number, body))
}

/// Returns the SHA-256 of a reader's contents in hexadecimal.
pub(crate) fn sha256(mut message: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    each_chunk(&mut message, |chunk| digest.update(chunk))?;
    Ok(hex(&digest.finalize()))
}

fn each_chunk(from: &mut impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[must_use]
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Parses a SHA-256 and returns it in lower case.
#[must_use]
pub(crate) fn checksum(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| text.to_ascii_lowercase())
}

/// Returns the checksum of `file` in a checksum file: a single checksum, or lines in the format of
/// `sha256sum` (`CHECKSUM FILE`) or BSD (`SHA256 (FILE) = CHECKSUM`).
pub(crate) fn published_checksum(text: &str, file: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let of_line = |line: &str| line.split_ascii_whitespace().find_map(checksum);
    let is_about = |line: &&str| {
        line.split_ascii_whitespace()
            .any(|word| word.trim_matches(['*', '(', ')']).rsplit('/').next() == Some(file))
    };
    let listed = lines().filter(is_about).find_map(of_line);
    let single = || lines().next().filter(|_| lines().count() == 1).and_then(of_line);
    listed.or_else(single)
}

#[cfg(test)]
mod tests;
