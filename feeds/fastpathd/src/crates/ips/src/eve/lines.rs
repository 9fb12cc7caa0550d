// SPDX-License-Identifier: GPL-2.0-or-later
//! Splits the EVE stream into lines. Lines over 64 KiB are skipped and counted.

/// Maximum length of a line, bytes. Without payloads, an event takes one to four kilobytes.
pub(crate) const MAX_LEN: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    skipping: bool,
    oversized: u64,
}

impl Lines {
    /// Calls `take` with each complete line, without the newline.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.partial.is_empty() && !self.skipping && line.len() <= MAX_LEN {
                take(line);
            } else if self.fits(line) {
                self.partial.extend_from_slice(line);
                take(&self.partial);
            }
            self.partial.clear();
            self.skipping = false;
            bytes = rest;
        }
        if self.fits(bytes) {
            self.partial.extend_from_slice(bytes);
        }
    }

    /// Discards the incomplete line of a previous connection.
    pub(crate) fn restart(&mut self) {
        self.partial.clear();
        self.skipping = false;
    }

    pub(crate) fn oversized(&self) -> u64 {
        self.oversized
    }

    /// Returns whether the current line may grow by `more`. Discards and counts a line that exceeds
    /// the limit.
    fn fits(&mut self, more: &[u8]) -> bool {
        if !self.skipping && self.partial.len() + more.len() > MAX_LEN {
            self.skipping = true;
            self.oversized += 1;
            self.partial = Vec::new();
        }
        !self.skipping
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(lines: &mut Lines, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        lines.push(bytes, |line| found.push(line.to_vec()));
        found
    }

    #[test]
    fn a_long_line_is_skipped_and_counted_once() {
        let mut lines = Lines::default();
        let long = vec![b'x'; MAX_LEN];
        for _ in 0..160 {
            assert!(cut(&mut lines, &long).is_empty());
            assert!(lines.partial.capacity() <= 2 * MAX_LEN);
        }
        assert_eq!(cut(&mut lines, b"x\nnext\n"), [b"next"]);
        assert_eq!(lines.oversized(), 1);
    }

    #[test]
    fn accepts_a_line_of_maximum_length_whole_or_split() {
        let mut lines = Lines::default();
        let mut longest = vec![b'x'; MAX_LEN];
        longest.push(b'\n');
        assert_eq!(cut(&mut lines, &longest)[0].len(), MAX_LEN);
        assert!(cut(&mut lines, &longest[..9]).is_empty());
        assert_eq!(cut(&mut lines, &longest[9..])[0].len(), MAX_LEN);
        longest.insert(0, b'x');
        assert!(cut(&mut lines, &longest).is_empty());
        assert_eq!(lines.oversized(), 1);
        assert_eq!(cut(&mut lines, b"y\n"), [b"y"]);
    }

    #[test]
    fn a_new_connection_discards_the_partial_line() {
        let mut lines = Lines::default();
        assert!(cut(&mut lines, b"half a li").is_empty());
        lines.restart();
        assert_eq!(cut(&mut lines, b"whole\n"), [b"whole"]);
    }

    proptest! {
        #[test]
        fn finds_the_same_lines_however_the_stream_is_split(
            texts in prop::collection::vec("[a-z]{0,9}", 0..20),
            cuts in prop::collection::vec(1_usize..9, 1..20),
        ) {
            let stream = texts.iter().flat_map(|text| [text, "\n"]).collect::<String>();
            let mut rest = stream.as_bytes();
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for size in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*size).min(rest.len()));
                found.extend(cut(&mut lines, now));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            let texts: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(found, texts);
        }
    }
}
