// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers of a collector that events are exported to.

use logs::{RedisFault, Replies};

/// Replies of Redis, in one piece and cut.
pub(crate) fn redis(bytes: &[u8]) {
    let read = |parts: &[&[u8]]| {
        let (mut replies, mut confirmed) = (Replies::default(), 0);
        let result = parts.iter().try_for_each(|part| replies.read(part, None, &mut confirmed));
        (confirmed, result)
    };
    let (one, other) = bytes.split_at(bytes.len() / 2);
    let (confirmed, result) = read(&[bytes]);
    assert_eq!(read(&[one, other]), (confirmed, result.clone()));
    // The shortest reply has a type and the end of a line.
    assert!(confirmed * 3 <= bytes.len());
    if let Err(RedisFault::Rejected(text)) = result {
        assert!(text.chars().count() <= 200 && !text.contains(char::is_control));
    }
}
