// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

// Created with OpenBSD's signify; usign has the same file formats.
const KEY: &str = "untrusted comment: fixture public key\n\
    RWSZ+q/Gk8domRI2Fi7tKf7AP7KS7AuSefIH5QHmSzTJQbCOa0bP4qN3\n";
const SIGNATURE: &str = "untrusted comment: verify with k.pub\n\
    RWSZ+q/Gk8domW4voibZOcjFxyfAnz8Adga0Xk42OB+K2ptD2I6Lcy4RhLi892pIFilV8cL/AYT7/o2pHLQHl6kMTdaG\
    seYQsAs=\n";
const MESSAGE: &[u8] = b"a rule archive\n";
const URL: &str = "https://h.example/et.tar.gz";

#[test]
fn accepts_a_signify_signature() {
    let key = UsignKey::parse(KEY).expect("a key");
    key.check(SIGNATURE, MESSAGE, URL).expect("good");
    // A UCI option contains only the line with the key.
    let line = KEY.lines().nth(1).expect("two lines");
    UsignKey::parse(line).expect("a key").check(SIGNATURE, MESSAGE, URL).expect("good");
}

#[test]
fn rejects_a_changed_message_or_signature() {
    let key = UsignKey::parse(KEY).expect("a key");
    let other = key.check(SIGNATURE, &b"a rule archive"[..], URL);
    assert_eq!(other, Err(SourceReason::Signature { url: URL.to_owned() }));
    for (from, to) in [("W4voi", "W4vpi"), ("Ad", "ad"), ("YQsAs=", "YQsAg=")] {
        let changed = SIGNATURE.replace(from, to);
        assert_ne!(changed, SIGNATURE);
        assert!(key.check(&changed, MESSAGE, URL).is_err(), "{from}");
    }
}

#[test]
fn rejects_a_key_as_a_signature_and_text_as_a_key() {
    let key = UsignKey::parse(KEY).expect("a key");
    assert!(matches!(key.check(KEY, MESSAGE, URL), Err(SourceReason::Form { .. })));
    for text in ["", "untrusted comment: x\n", "RWS", "RWS=", "####", "VGhpcyBpcyBub3QgYSBrZXkh"] {
        assert!(matches!(UsignKey::parse(text), Err(Fault::PublicKey { .. })), "{text}");
    }
}

#[test]
fn finds_published_checksums_in_every_format() {
    let sum = sha256(MESSAGE).expect("memory");
    let upper = sum.to_uppercase();
    let other = "0".repeat(64);
    for text in [
        sum.clone(),
        format!("{upper}\n"),
        format!("{sum}  some-other-name.tar.gz\n"),
        format!("{other}  b.tar.gz\n{sum}  ./dist/et.tar.gz\n"),
        format!("{other} *b.tar.gz\r\n{sum} *et.tar.gz\r\n"),
        format!("SHA256 (et.tar.gz) = {sum}\nSHA256 (b) = {other}\n"),
    ] {
        assert_eq!(published_checksum(&text, "et.tar.gz").expect(&text), sum, "{text}");
    }
    for text in [String::new(), "<html>".into(), format!("{other} a\n{other} b\n"), "abc et".into()]
    {
        assert_eq!(published_checksum(&text, "et.tar.gz"), None, "{text}");
    }
}

#[test]
fn base64_decoding_is_strict() {
    let base64 = |text: &str| Base64::decode_vec(text).ok();
    assert_eq!(base64("").as_deref(), Some(&b""[..]));
    assert_eq!(base64("TQ==").as_deref(), Some(&b"M"[..]));
    assert_eq!(base64("TWE=").as_deref(), Some(&b"Ma"[..]));
    assert_eq!(base64("TWFu").as_deref(), Some(&b"Man"[..]));
    assert_eq!(base64("+/+/").as_deref(), Some(&[0xfb, 0xff, 0xbf][..]));
    for bad in ["T", "TQ", "TQ=", "====", "T===", "TW u", "TWF\n"] {
        assert_eq!(base64(bad), None, "{bad:?}");
    }
}
