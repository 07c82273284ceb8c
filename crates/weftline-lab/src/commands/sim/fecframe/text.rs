//! Tables in a terminal.

use weftline_cli::ui::output;

/// Prints a table: the first column aligned to the left, the others to the right.
pub(super) fn print(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        output::print(format_args!("{}", cells.join("  ").trim_end()));
    }
}

/// Prints a table in Markdown.
pub(super) fn print_markdown(rows: &[Vec<String>]) {
    for (index, row) in rows.iter().enumerate() {
        output::print(format_args!("| {} |", row.join(" | ")));
        if index == 0 {
            output::print(format_args!(
                "|---|{}",
                "---:|".repeat(row.len().saturating_sub(1))
            ));
        }
    }
}
