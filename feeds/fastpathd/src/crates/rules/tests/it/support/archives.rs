// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds valid and invalid archives.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

pub(crate) fn gz(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

/// Name, kind and contents of an entry, which may be invalid.
pub(crate) struct Entry<'a>(pub(crate) &'a str, pub(crate) EntryType, pub(crate) &'a [u8]);

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
    }
    header.set_cksum();
    header
}

pub(crate) fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for Entry(name, kind, contents) in entries {
        builder.append(&header(name, *kind, contents.len() as u64), *contents).expect("memory");
    }
    builder.into_inner().expect("memory")
}

pub(crate) fn files(files: &[(&str, &str)]) -> Vec<u8> {
    let mut entries = vec![Entry("rules/", EntryType::Directory, b"")];
    entries
        .extend(files.iter().map(|(name, text)| Entry(name, EntryType::Regular, text.as_bytes())));
    gz(&tar(&entries))
}

/// Returns a gzip file of zeros with this unpacked size.
pub(crate) fn zeros(gigabytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; 16 << 20]).expect("memory");
    let member = encoder.finish().expect("memory");
    member.repeat(gigabytes * 64)
}

/// Returns a gzipped tar with one entry of this size.
pub(crate) fn huge_entry(name: &str, gigabytes: usize) -> Vec<u8> {
    let size = (gigabytes as u64) << 30;
    let mut packed = gz(header(name, EntryType::Regular, size).as_bytes());
    packed.extend(zeros(gigabytes));
    packed
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit).collect()
}

fn hex_digit(value: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(value)])
}

pub(crate) struct Signer {
    number: [u8; 8],
    pair: ed25519_compact::KeyPair,
}

impl Signer {
    pub(crate) fn new(number: u8) -> Self {
        let pair = ed25519_compact::KeyPair::from_seed(ed25519_compact::Seed::new([number; 32]));
        Self { number: [number; 8], pair }
    }

    fn line(&self, bytes: &[u8]) -> String {
        base64(&[b"Ed".as_slice(), &self.number, bytes].concat())
    }

    pub(crate) fn key(&self) -> String {
        self.line(&*self.pair.pk)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature = self.pair.sk.sign(message, None);
        format!("untrusted comment: signed\n{}\n", self.line(&*signature)).into_bytes()
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let of = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
