//! Tables for people.

use super::Output;
use crate::escape::escape;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use std::io::{self, Write};

/// A table without lines, its columns two spaces apart.
///
/// In a terminal of `width` columns cells are wrapped; else each row stays one line, for `grep`.
pub struct Columns {
    table: Table,
}

impl Columns {
    pub fn new<T: Into<String>>(width: Option<u16>, headers: impl IntoIterator<Item = T>) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let headers: Vec<_> = headers
            .into_iter()
            .map(|header| Cell::new(header.into()))
            .collect();
        if !headers.is_empty() {
            table.set_header(headers);
        }
        if let Some(width) = width {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
        } else {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        Self { table }
    }

    /// Adds a row; a line break within a cell stays one, all else is escaped.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.table.add_row(cells.into_iter().map(|cell| {
            let lines: Vec<_> = cell.as_ref().split('\n').map(escape).collect();
            Cell::new(lines.join("\n"))
        }));
    }

    /// Aligns a column's cells to the right, the header with them.
    pub fn align_right(&mut self, column: usize) {
        if let Some(column) = self.table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    pub fn write(mut self, output: &mut impl Write) -> io::Result<()> {
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        writeln!(output, "{}", self.table.trim_fmt())
    }
}

/// A text of its own line, wrapped at words in a terminal.
pub fn paragraph(output: &mut Output, text: &str) -> io::Result<()> {
    if output.width().is_none() {
        return writeln!(output, "{}", escape(text));
    }
    let mut columns = Columns::new(output.width(), [""; 0]);
    columns.row([text]);
    columns.write(output)
}

#[cfg(test)]
mod tests {
    use super::Columns;

    fn table(width: Option<u16>) -> String {
        let mut columns = Columns::new(width, ["COUNT", "REASON"]);
        columns.row(["7", "some words that are long\nand a line"]);
        columns.align_right(0);
        let mut text = Vec::new();
        columns.write(&mut text).expect("a Vec takes all");
        String::from_utf8(text).expect("the table is UTF-8")
    }

    #[test]
    fn cells_are_wrapped_in_a_terminal_only() {
        assert_eq!(
            table(None),
            "COUNT  REASON\n    7  some words that are long\n       and a line\n"
        );
        let narrow = table(Some(24));
        assert!(narrow.lines().all(|line| line.len() <= 24), "{narrow}");
        assert!(narrow.contains("some words"), "{narrow}");
    }
}
