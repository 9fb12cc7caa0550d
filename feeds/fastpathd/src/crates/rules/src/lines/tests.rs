// SPDX-License-Identifier: GPL-2.0-or-later
use std::io::BufReader;

use proptest::prelude::*;

use super::*;

fn all(bytes: &[u8]) -> Result<Vec<Line>, LineError> {
    // Small buffer: lines span several reads.
    let mut lines = Lines::new(BufReader::with_capacity(7, bytes));
    let mut found = Vec::new();
    while let Some(line) = lines.next_line()? {
        found.push(line);
    }
    Ok(found)
}

fn rule(number: u32, text: &str) -> Line {
    Line::Rule { number, text: text.to_owned() }
}

#[test]
fn counts_physical_lines() {
    let text = b"one\n\n  \r\n#two\nthree \\\r\n four\\\n\nfive\n  six  ";
    let comment = Line::Comment("two".to_owned());
    let wanted = [rule(1, "one"), comment, rule(5, "three  four"), rule(8, "five"), rule(9, "six")];
    assert_eq!(all(text).expect("lines"), wanted);
}

#[test]
fn skips_a_byte_order_mark_at_the_start_of_a_file() {
    assert_eq!(all(b"\xef\xbb\xbf# x\nb\n").unwrap(), [Line::Comment(" x".into()), rule(2, "b")]);
    assert_eq!(all(b"\xef\xbb\xbfa\r\n").unwrap(), [rule(1, "a")]);
    assert_eq!(all(b"\xef\xbb\xbf").unwrap(), []);
    assert_eq!(all(b"a\n\xef\xbb\xbfb\n").unwrap(), [rule(1, "a"), rule(2, "\u{feff}b")]);
}

#[test]
fn a_comment_is_not_continued() {
    let wanted = [Line::Comment(" a \\".to_owned()), rule(2, "b")];
    assert_eq!(all(b"# a \\\nb\n").expect("lines"), wanted);
}

#[test]
fn an_empty_continuation_line_keeps_the_text() {
    assert_eq!(all(b"a\r\\\n\nb").expect("lines"), [rule(1, "a"), rule(3, "b")]);
    assert_eq!(all(b"a\r\\\n\r\nb").expect("lines"), [rule(1, "a"), rule(3, "b")]);
}

#[test]
fn invalid_utf8_is_reported_with_its_line() {
    let wanted = [rule(1, "a"), Line::NotText { number: 2 }, Line::NotText { number: 3 }];
    assert_eq!(all(b"a\n\xff\nx\0y\n").expect("lines"), wanted);
}

#[test]
fn rejects_an_endless_line() {
    struct Endless;
    impl io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    let mut lines = Lines::new(BufReader::new(io::Read::chain(&b"a\n"[..], Endless)));
    assert_eq!(lines.next_line().expect("a line"), Some(rule(1, "a")));
    assert!(matches!(lines.next_line(), Err(LineError::TooLong { number: 2, .. })));
    // Joined lines have the same limit.
    let continued = "abcdefgh\\\n".repeat(10_000);
    assert!(matches!(all(continued.as_bytes()), Err(LineError::TooLong { number: 1, .. })));
}

proptest! {
    #[test]
    fn splits_any_bytes_into_lines(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for line in all(&bytes).expect("short") {
            if let Line::Rule { text, number } = line {
                prop_assert!(!text.is_empty() && !text.contains('\n'));
                prop_assert!(number as usize <= bytes.len());
            }
        }
    }

    #[test]
    fn the_text_of_rules_is_preserved(
        texts in proptest::collection::vec("[a-z(][a-z() ;:]{0,40}[a-z)]", 0..8),
    ) {
        let wanted: Vec<Line> =
            (1..).zip(&texts).map(|(number, text)| rule(number, text)).collect();
        prop_assert_eq!(all(texts.join("\n").as_bytes()).expect("lines"), wanted);
    }
}
