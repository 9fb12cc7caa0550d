// SPDX-License-Identifier: GPL-2.0-or-later
//! Bounds the length of texts from the network.

/// Truncates a text to at most `longest` bytes, at a whole character. Control characters stay,
/// because each output escapes its own.
pub(crate) fn bounded(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        let mut end = longest;
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
    fn characters_stay_whole() {
        assert_eq!(bounded("a€b".into(), 5), "a€b");
        assert_eq!(bounded("a€b".into(), 4), "a€");
        assert_eq!(bounded("a€b".into(), 3), "a");
        assert_eq!(bounded("a\u{1b}[2J".into(), 9), "a\u{1b}[2J");
    }
}
