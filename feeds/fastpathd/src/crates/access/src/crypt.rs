// SPDX-License-Identifier: GPL-2.0-or-later
//! Hashes passwords for `/etc/config/rpcd` with SHA-512 (`$6$`), which `crypt(3)` of musl supports,
//! and a random salt.

use std::io::Read;

use sha_crypt::{PasswordHasher, ShaCrypt};

/// Bytes of a salt: 16 characters in base64, the maximum of `crypt(3)`.
const SALT: usize = 12;

pub(crate) fn hash(password: &str) -> std::io::Result<String> {
    let mut salt = [0u8; SALT];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut salt)?;
    hash_with(password, &salt)
}

fn hash_with(password: &str, salt: &[u8; SALT]) -> std::io::Result<String> {
    let hash = ShaCrypt::SHA512.hash_password_with_salt(password.as_bytes(), salt);
    Ok(hash.map_err(std::io::Error::other)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_the_output_of_openssl() {
        // Output of `openssl passwd -6 -salt 'rounds=5000$5Qk/5Qk/5Qk/5Qk/' PASSWORD`.
        let known = [
            (
                "Hello world!".to_owned(),
                "PYRuvQCRtitkmxicEmFnGd0KlWZx1TrPU7rEgocbTbWGNw/AXWL6NLgK/xzwaq8Fav.p0wKQ\
                 AIhWdc0bN9y5y.",
            ),
            (
                "ä".repeat(60),
                "Im/hFD6AhKCXT27RttUxnB1cKGURu/DNPo4r/uu2DAp68G.aNSCogtn8B7GCfJRs5PJgiQEe\
                 SdDrWQyolRw6v/",
            ),
        ];
        for (password, hash) in known {
            let hash = format!("$6$rounds=5000$5Qk/5Qk/5Qk/5Qk/${hash}");
            assert_eq!(hash_with(&password, &[7; SALT]).unwrap(), hash);
        }
    }

    #[test]
    fn each_hash_has_a_new_salt() {
        let (one, other) = (hash("x").unwrap(), hash("x").unwrap());
        assert!(one.starts_with("$6$") && one != other, "{one}, {other}");
    }
}
