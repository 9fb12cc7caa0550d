// SPDX-License-Identifier: GPL-2.0-or-later
//! Tokens of a delta file: quotes, comments, continuation lines.

/// Reason for which libuci rejects a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{package}, {error}")]
pub struct SyntaxError {
    pub package: String,
    pub error: uci::ParseError,
}

/// Tokens of a statement and the number of its first line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) words: Vec<String>,
    pub(crate) line: usize,
}

/// Splits a text into statements at newlines and at `;` outside quotes.
pub(crate) fn statements(text: &str) -> Result<Vec<Statement>, (usize, &'static str)> {
    let mut reader = Reader { chars: text.chars().peekable(), line: 1 };
    let mut statements = Vec::new();
    let mut current = Statement { words: Vec::new(), line: 1 };
    loop {
        match reader.next_word()? {
            Token::Word(word) => {
                if current.words.is_empty() {
                    current.line = reader.line;
                }
                current.words.push(word);
            }
            end => {
                let done =
                    std::mem::replace(&mut current, Statement { words: Vec::new(), line: 0 });
                if !done.words.is_empty() {
                    statements.push(done);
                }
                if matches!(end, Token::Eof) {
                    return Ok(statements);
                }
            }
        }
    }
}

enum Token {
    Word(String),
    End,
    Eof,
}

struct Reader<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn advance(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn next_word(&mut self) -> Result<Token, (usize, &'static str)> {
        while let Some(blank) = self.chars.peek().filter(|c| c.is_ascii_whitespace()) {
            let end = *blank == '\n';
            self.advance();
            if end {
                return Ok(Token::End);
            }
        }
        match self.chars.peek() {
            None => return Ok(Token::Eof),
            Some(';') => {
                self.advance();
                return Ok(Token::End);
            }
            Some('#') => {
                while self.chars.peek().is_some_and(|c| *c != '\n') {
                    self.advance();
                }
                return Ok(if self.advance().is_some() { Token::End } else { Token::Eof });
            }
            Some(_) => {}
        }
        let mut word = String::new();
        while let Some(next) = self.chars.peek().copied() {
            match next {
                '\'' => self.quoted('\'', &mut word)?,
                '"' => self.quoted('"', &mut word)?,
                '\\' => self.escaped(&mut word),
                ';' | '#' => break,
                blank if blank.is_ascii_whitespace() => break,
                plain => {
                    self.advance();
                    word.push(plain);
                }
            }
        }
        Ok(Token::Word(word))
    }

    /// Reads up to the closing quote, across lines. A backslash escapes only in double quotes.
    fn quoted(&mut self, quote: char, word: &mut String) -> Result<(), (usize, &'static str)> {
        let line = self.line;
        self.advance();
        loop {
            match self.chars.peek().copied() {
                None => return Err((line, "a quote that is not closed")),
                Some(end) if end == quote => {
                    self.advance();
                    return Ok(());
                }
                Some('\\') if quote == '"' => self.escaped(word),
                Some(plain) => {
                    self.advance();
                    word.push(plain);
                }
            }
        }
    }

    /// Reads an escaped character. An escaped newline is dropped.
    fn escaped(&mut self, word: &mut String) {
        self.advance();
        if let Some(plain) = self.advance().filter(|c| *c != '\n') {
            word.push(plain);
        }
    }
}

pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns whether `text` is a valid section type: printable ASCII without whitespace.
pub(crate) fn is_type(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic())
}
