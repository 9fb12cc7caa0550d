// SPDX-License-Identifier: GPL-2.0-or-later
//! Tokens of browsers in which a user has logged in before, so that the throttle counts those
//! apart from everybody else. A token has a random number and its HMAC-SHA-256 with the name, under
//! a key in `/etc/fastpath/access.key`, which only root reads. It is good for one name and replaces
//! no password.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Kept by sysupgrade and by backups, as the accounts are.
pub(crate) const KEY: &str = "/etc/fastpath/access.key";
/// Bytes of the key: a block of SHA-256.
const BYTES: usize = 64;
/// Bytes of a token's random number.
const NUMBER: usize = 16;
/// Characters of it in base64.
const NUMBER_TEXT: usize = 22;

/// The router's key.
pub(crate) struct Key([u8; BYTES]);

impl Key {
    /// The key in a file; none if there is none yet, or an incomplete one.
    pub(crate) fn stored(file: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The key in a file, which is made at the first use.
    ///
    /// # Errors
    /// The file cannot be written, on a full flash for example.
    pub(crate) fn of_file(file: &Path) -> io::Result<Self> {
        if let Some(key) = Self::stored(file) {
            return Ok(key);
        }
        let key = Self(random()?);
        if let Some(folder) = file.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        // Two first logins at once make two keys, and the token of one is not good: it gets
        // another at its next login.
        let aside = file.with_extension(std::process::id().to_string());
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)
            .and_then(|mut new| new.write_all(&key.0).and_then(|()| new.sync_all()))
            .and_then(|()| fs::rename(&aside, file));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written.map(|()| key)
    }

    /// A new token for a name.
    ///
    /// # Errors
    /// The kernel gave no random bytes.
    pub(crate) fn token(&self, name: &str) -> io::Result<String> {
        let number = Base64UrlUnpadded::encode_string(&random::<NUMBER>()?);
        let seal = self.seal(name, &number).finalize().into_bytes();
        Ok(format!("{number}.{}", Base64UrlUnpadded::encode_string(&seal)))
    }

    /// The number of the browser whose token this is; none if it was not made for that name here.
    pub(crate) fn browser(&self, name: &str, token: &str) -> Option<String> {
        let (number, seal) = token.split_once('.')?;
        let seal = Base64UrlUnpadded::decode_vec(seal).ok()?;
        let valid =
            number.len() == NUMBER_TEXT && self.seal(name, number).verify_slice(&seal).is_ok();
        valid.then(|| number.to_owned())
    }

    fn seal(&self, name: &str, number: &str) -> Hmac<Sha256> {
        // The number has a fixed length, so no two pairs give the same text.
        Hmac::new(&self.0.into()).chain_update(number).chain_update(name)
    }
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_name_on_its_router() {
        let (key, other) = (Key([1; BYTES]), Key([2; BYTES]));
        let token = key.token("root").unwrap();
        let number = key.browser("root", &token).unwrap();
        assert!(token.starts_with(&number) && number.len() == NUMBER_TEXT, "{token}");
        assert_ne!(key.token("root").unwrap(), token);
        assert_eq!(key.browser("viewer", &token), None);
        assert_eq!(other.browser("root", &token), None);
        for wrong in ["", ".", "x", &token[..token.len() - 1], &format!("{token}0"), &number] {
            assert_eq!(key.browser("root", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_key_is_made_once_and_only_root_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("access-key-{}", std::process::id()));
        let file = folder.join("fastpath/access.key");
        assert!(Key::stored(&file).is_none());
        let made = Key::of_file(&file).unwrap();
        assert_eq!(Key::of_file(&file).unwrap().0, made.0);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        fs::write(&file, "cut").unwrap();
        assert!(Key::stored(&file).is_none());
        assert_ne!(Key::of_file(&file).unwrap().0, made.0);
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert!(Key::of_file(&file).is_err(), "no folder can be made there");
        fs::remove_file(&folder).unwrap();
    }
}
