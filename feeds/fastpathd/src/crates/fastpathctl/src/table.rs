// SPDX-License-Identifier: GPL-2.0-or-later

/// Formats rows below a heading in aligned columns. `heading` lists the columns, as in
/// `NAME|>SIZE`, where `>` aligns a column to the right. Missing cells are empty; extra cells are
/// dropped.
pub(crate) fn table(heading: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let columns: Vec<&str> = heading.split('|').collect();
    let names = columns.iter().map(|column| column.trim_start_matches('>').to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(names)
        .chain(rows)
        .map(|mut row| {
            row.resize(columns.len(), String::new());
            row
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns.len()).map(|of| width(of).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), column) in row.iter().zip(&widths).zip(&columns) {
            let gap = " ".repeat(width - cell.chars().count());
            let parts = if column.starts_with('>') { [&gap, cell] } else { [cell, &gap] };
            line.extend(parts.map(String::as_str));
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["flowtable", "7"], vec!["slow", "1234567"], vec!["é"]];
        let rows = rows.map(|row| row.into_iter().map(str::to_owned).collect());
        assert_eq!(
            table("PATH|>FLOWS", rows.into_iter()),
            "PATH         FLOWS\n\
             flowtable        7\n\
             slow       1234567\n\
             é\n"
        );
    }
}
