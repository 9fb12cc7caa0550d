// SPDX-License-Identifier: GPL-2.0-or-later

/// Truncates a text from the network to at most `max_len` bytes, at a character boundary. Control
/// characters remain, because each output escapes them.
pub(crate) fn bounded(mut text: String, max_len: usize) -> String {
    if text.len() > max_len {
        let mut end = max_len;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text.shrink_to_fit();
    text
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn truncates_at_a_character_boundary() {
        assert_eq!(bounded("a€b".into(), 5), "a€b");
        assert_eq!(bounded("a€b".into(), 4), "a€");
        assert_eq!(bounded("a€b".into(), 3), "a");
        assert_eq!(bounded("a\u{1b}[2J".into(), 9), "a\u{1b}[2J");
    }
}
