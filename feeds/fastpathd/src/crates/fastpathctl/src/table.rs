// SPDX-License-Identifier: GPL-2.0-or-later
//! Text in aligned columns.

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under a heading; every column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    heading: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[(&'static str, Align)]) -> Self {
        Self { heading: heading.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus ones are left out.
    pub(crate) fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.heading.len(), String::new());
        self.rows.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.heading.len())
            .map(|i| {
                let cells = self.rows.iter().map(|r| r[i].chars().count());
                cells.max().unwrap_or(0).max(self.heading[i].0.chars().count())
            })
            .collect();
        let heading = self.heading.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&heading).chain(&self.rows) {
            text.push_str(self.line(row, &widths).trim_end());
            text.push('\n');
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(&self.heading) {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => line.extend([cell.as_str(), &gap]),
                Align::Right => line.extend([gap.as_str(), cell]),
            }
            line.push_str("  ");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("PATH", Align::Left), ("FLOWS", Align::Right)]);
        table.row(vec!["flowtable".into(), "7".into()]);
        table.row(vec!["slow".into(), "1234567".into()]);
        table.row(vec!["é".into()]);
        assert_eq!(
            table.render(),
            "PATH         FLOWS\n\
             flowtable        7\n\
             slow       1234567\n\
             é\n"
        );
    }
}
