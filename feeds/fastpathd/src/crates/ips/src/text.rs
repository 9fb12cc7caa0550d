// SPDX-License-Identifier: GPL-2.0-or-later
//! Cuts a text that came from the network to a number of bytes, at a whole character.

/// At most `longest` bytes of it, whole characters only. Control characters stay: they are data,
/// and escaping them is up to the output.
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
