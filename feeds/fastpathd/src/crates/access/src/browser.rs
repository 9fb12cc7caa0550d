// SPDX-License-Identifier: GPL-2.0-or-later
//! Browser tokens and login nonces. A token is a random number with an HMAC-SHA-256 over number and
//! name; the throttle counts its failures separately. A nonce is a time with its HMAC, under a
//! key that is renewed at boot. A login with a token still needs the password.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Key of tokens. sysupgrade and backups include it, like the accounts.
pub(crate) const KEY: &str = "/etc/fastpath/access.key";
/// Key of nonces, in memory.
pub(crate) const NONCE_KEY: &str = "/var/run/fastpath-access.key";
pub(crate) const NONCE_LIFETIME: Duration = Duration::from_secs(60);
/// Bytes of a key: one block of SHA-256.
const BYTES: usize = 64;
const NUMBER: usize = 16;
/// Length of the random number in base64.
const NUMBER_TEXT: usize = 22;

/// User name in the HMAC of a nonce. Keeps a token from being valid as a nonce.
const NONCE: &str = ".nonce";

pub(crate) struct Key([u8; BYTES]);

impl Key {
    /// Reads a key. `None` if the file is missing or has another size.
    pub(crate) fn stored(file: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// Reads the key, or creates it on first use.
    ///
    /// # Errors
    /// The file cannot be written, for example because the flash is full.
    pub(crate) fn of_file(file: &Path) -> io::Result<Self> {
        if let Some(key) = Self::stored(file) {
            return Ok(key);
        }
        let key = Self(random()?);
        if let Some(folder) = file.parent() {
            DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        // Two concurrent first logins both create a key, and one of their tokens becomes invalid.
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

    pub(crate) fn token(&self, name: &str) -> io::Result<String> {
        let number = Base64UrlUnpadded::encode_string(&random::<NUMBER>()?);
        let seal = self.seal(name, &number).finalize().into_bytes();
        Ok(format!("{number}.{}", Base64UrlUnpadded::encode_string(&seal)))
    }

    /// Returns the random number of a token. `None` unless this router issued it for this name.
    pub(crate) fn browser(&self, name: &str, token: &str) -> Option<String> {
        let (number, seal) = token.split_once('.')?;
        let seal = Base64UrlUnpadded::decode_vec(seal).ok()?;
        let valid =
            number.len() == NUMBER_TEXT && self.seal(name, number).verify_slice(&seal).is_ok();
        valid.then(|| number.to_owned())
    }

    pub(crate) fn nonce(&self, now: Duration) -> String {
        let made = now.as_millis().to_string();
        let seal = self.seal(NONCE, &made).finalize().into_bytes();
        format!("{made}.{}", Base64UrlUnpadded::encode_string(&seal))
    }

    pub(crate) fn is_fresh(&self, nonce: &str, now: Duration) -> bool {
        let Some((made, seal)) = nonce.split_once('.') else { return false };
        let Ok(seal) = Base64UrlUnpadded::decode_vec(seal) else { return false };
        let Ok(ms) = made.parse() else { return false };
        let age = now.checked_sub(Duration::from_millis(ms));
        age.is_some_and(|age| age <= NONCE_LIFETIME)
            && self.seal(NONCE, made).verify_slice(&seal).is_ok()
    }

    fn seal(&self, name: &str, number: &str) -> Hmac<Sha256> {
        // Numbers have a fixed length, so different pairs never concatenate to the same text.
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
    fn a_token_is_valid_only_for_its_name_and_router() {
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
    fn a_nonce_expires_and_is_valid_only_on_its_router() {
        let (key, other) = (Key([1; BYTES]), Key([2; BYTES]));
        let at = Duration::from_millis(100_250);
        let nonce = key.nonce(at);
        assert!(key.is_fresh(&nonce, at) && key.is_fresh(&nonce, at + NONCE_LIFETIME));
        assert!(!key.is_fresh(&nonce, at + NONCE_LIFETIME + Duration::from_millis(1)));
        assert!(!key.is_fresh(&nonce, Duration::from_millis(100_249)), "from the future");
        assert!(!other.is_fresh(&nonce, at));
        let later = nonce.replacen("100250", "100300", 1);
        let token = key.token("root").unwrap();
        for wrong in ["", ".", "x", "100250", "100250.", &nonce[..nonce.len() - 1], &later, &token]
        {
            assert!(!key.is_fresh(wrong, at + Duration::from_secs(1)), "{wrong}");
        }
    }

    #[test]
    fn the_key_is_created_once_and_readable_only_by_root() {
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
