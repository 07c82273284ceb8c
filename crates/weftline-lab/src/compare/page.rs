//! The report: one page without scripts and external resources.

use std::fmt::Write;

use weftline_plot::escape;

use super::figures::figures;
use super::results::{Results, SuiteResults};
use super::table::{details, notes, overview, trust, workload};
use super::verdict;

/// The page; `command` is the command that makes it again.
pub fn page(results: &Results, command: &str) -> String {
    let names: Vec<&str> = results
        .suites
        .iter()
        .map(|suite| suite.name.as_str())
        .collect();
    let title = format!("Transports compared: {}", names.join(", "));
    // Writing to a string cannot fail, here and below.
    let mut page = String::new();
    for suite in &results.suites {
        page += &section(suite);
    }
    let _ = writeln!(
        page,
        "<h2>How this was made</h2>\n<pre>{}</pre>\n<p>weftline {}. Each run: two network namespaces, \
         an emulated path between them, <code>weftline-lab load</code> at both ends. runs.jsonl has every \
         run with its command lines, results and counters; results.json the results on this page.</p>",
        escape(command),
        escape(&results.version)
    );
    weftline_plot::page(&title, "", &page)
}

/// Text in which words between backticks are marked as code.
fn code(text: &str) -> String {
    let mut html = String::new();
    for (index, piece) in text.split('`').enumerate() {
        let piece = escape(piece);
        match index % 2 {
            0 => html += &piece,
            _ => drop(write!(html, "<code>{piece}</code>")),
        }
    }
    html
}

fn section(suite: &SuiteResults) -> String {
    let mut page = String::new();
    let _ = writeln!(
        page,
        "<h2>{}: {}</h2>\n<p>{}</p>\n<p class=\"small\">{}</p>",
        escape(&suite.name),
        escape(&suite.title),
        code(&suite.about),
        escape(&trust(suite))
    );
    if !suite.verdicts.is_empty() {
        page += &verdict::table(&suite.verdicts).html();
    }
    let (caption, table) = overview(suite);
    let _ = writeln!(page, "<p>{}</p>\n{}", escape(caption), table.html());
    page += &figures(suite);
    for case in &suite.cases {
        let _ = writeln!(
            page,
            "<details><summary>{}: all numbers</summary>\n<p class=\"small\">{}</p>\n{}",
            escape(&case.name),
            escape(&workload(case)),
            details(case, suite.view).html()
        );
        for note in notes(case) {
            let _ = writeln!(page, "<p class=\"small\">* {}</p>", escape(&note));
        }
        page += "</details>\n";
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_backticks_are_code_and_stay_words() {
        assert_eq!(code("a `b<` c"), "a <code>b&lt;</code> c");
    }
}
