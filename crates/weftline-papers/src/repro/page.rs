//! The report's page: one file without scripts and external resources.

use std::fmt::Write;

use super::check::Check;
use super::report::{Became, Entry, Report};
use weftline_plot::{CHART_STYLE, PAGE_STYLE, escape, figure};

const STYLE: &str = "
td.what, th.what { white-space: normal; min-width: 12rem; text-align: left; }
main { max-width: 72rem; } p, li { max-width: 54rem; } ul { margin: .5rem 0; padding-left: 1.2rem; }
th.what { text-align: left; } td:nth-child(2), th:nth-child(2) { text-align: right; }
table td.what { text-align: left; } table th.what { text-align: left; }
td:last-child { white-space: normal; min-width: 7rem; }
.good { color: var(--s2); } .bad { color: var(--s8); font-weight: 600; }
section { border-top: 1px solid var(--rule); margin-top: 2rem; }
section h3 { font-size: 1.1rem; margin-top: 1rem; }
@media print {
  main { max-width: none; padding: 0; } details { display: none; }
  section { break-inside: auto; } .wide { overflow: visible; } table { font-size: .7rem; }
  figure { overflow: visible; } figure svg { min-width: 0; max-height: 9cm; } a { color: inherit; }
}
@media (max-width: 40rem) { figure svg { min-width: 30rem; } body { font-size: 15px; } }
";

/// Heads of the columns with numbers.
const HEADS: &str = "<th>paper</th><th>theory</th><th>simulation</th><th>engine</th><th>lab</th><th>difference</th>";

/// The page.
pub fn page(report: &Report<'_>) -> String {
    let title = "The papers' figures, run again";
    let mut page = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{CHART_STYLE}{PAGE_STYLE}{STYLE}</style></head>\n<body><main>\n\
         <h1>{title}</h1>\n"
    );
    page += "<p>Each figure and table of the five papers that Weftline builds on, run again: the paper's \
             numbers where it gives any, Weftline's formula, its simulation of the paper's model, and the \
             lab's measurements if there are any. Diamonds are the papers' numbers, plain lines formulas, dots \
             simulations with bars of one standard error, squares measurements. A difference is to the paper's \
             number, or between simulation and theory in standard errors (σ). Below each figure are the commands that print \
             its numbers, one for each point.</p>\n";
    overview(&mut page, report);
    for paper in report.papers() {
        let _ = writeln!(page, "<h2>{}</h2>", escape(paper.citation()));
        let own = report.entries.iter().filter(|e| e.figure.paper == paper);
        own.for_each(|entry| section(&mut page, entry, &report.options));
    }
    let (points, seconds) = report.effort;
    let _ = write!(
        page,
        "<section><h2>How this was made</h2>\n<pre>{}</pre>\n\
         <p>{}. {points} points, which took {:.1} minutes in total. A simulation agrees with a formula within 4 of \
         its standard errors. All numbers but the speeds are repeatable.</p></section>\n\
         </main></body></html>\n",
        escape(&report.command),
        escape(&report.program),
        seconds / 60.0,
    );
    page
}

/// The first table: a line for each figure.
fn overview(page: &mut String, report: &Report<'_>) {
    page.push_str(
        "<h2>All figures</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"what\">figure</th>",
    );
    page.push_str("<th class=\"what\">first comparison</th>");
    page.push_str(HEADS);
    page.push_str("<th>verdict on the whole figure</th></tr>\n");
    for entry in &report.entries {
        let id = entry.figure.id;
        let name = format!("{} {}", entry.figure.paper.id(), entry.figure.number());
        let cells = match entry.checks().first() {
            Some(check) => format!(
                "<td class=\"what\">{}</td>{}",
                escape(&check.what),
                numbers(check)
            ),
            None => format!(
                "<td class=\"what\">{}</td>{}",
                escape(entry.figure.title),
                "<td></td>".repeat(6)
            ),
        };
        let (class, verdict) = entry.verdict();
        let _ = writeln!(
            page,
            "<tr><td class=\"what\"><a href=\"#{id}\">{}</a></td>{cells}<td class=\"{class}\">{}</td></tr>",
            escape(&name),
            escape(&verdict)
        );
    }
    page.push_str("</table></div>\n");
}

fn section(page: &mut String, entry: &Entry<'_>, options: &str) {
    let figure_ = entry.figure;
    let _ = writeln!(
        page,
        "<section id=\"{}\"><h3>{}: {}</h3>\n<p>{}</p>",
        figure_.id,
        escape(&figure_.number()),
        escape(figure_.title),
        escape(figure_.shows)
    );
    if let Became::Shown(shown) = &entry.became {
        for picture in &shown.pictures {
            page.push_str(&figure(&picture.svg(), picture.caption()));
        }
        checks(page, &shown.checks);
    }
    let _ = writeln!(page, "<p><b>{}</b></p>", escape(&entry.agreement()));
    if let Became::Shown(shown) = &entry.became {
        for note in &shown.notes {
            let _ = writeln!(page, "<p>{}</p>", escape(note));
        }
    }
    let commands: Vec<String> = figure_.points.iter().map(ToString::to_string).collect();
    let csv = match entry.csv() {
        Some(_) => format!(
            "; numbers: <a href=\"data/{id}.csv\">data/{id}.csv</a>",
            id = figure_.id
        ),
        None => String::new(),
    };
    let _ = writeln!(
        page,
        "<p class=\"small\">Again: <code>weftline-lab repro {}{} --out DIR</code>{csv}</p>\n\
         <details><summary>{} commands</summary><pre>{}</pre></details>\n</section>",
        figure_.id,
        escape(options),
        commands.len(),
        escape(&commands.join("\n"))
    );
}

fn checks(page: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    page.push_str("<div class=\"wide\"><table>\n<tr><th class=\"what\">compared</th>");
    page.push_str(HEADS);
    page.push_str("<th>verdict</th></tr>\n");
    let mut reasons: Vec<(&str, &str)> = Vec::new();
    for check in checks {
        let verdict = check.verdict();
        let class = if verdict.is_good() { "good" } else { "bad" };
        let _ = writeln!(
            page,
            "<tr><td class=\"what\">{}</td>{}<td class=\"{class}\">{}</td></tr>",
            escape(&check.what),
            numbers(check),
            escape(verdict.words()),
        );
        // A reason that several comparisons share is given once.
        for why in [&check.why, &check.engine_why].into_iter().flatten() {
            if reasons.iter().all(|(_, told)| told != why) {
                reasons.push((&check.what, why));
            }
        }
    }
    page.push_str("</table></div>\n");
    if !reasons.is_empty() {
        page.push_str("<ul class=\"small\">\n");
        for (what, why) in reasons {
            let _ = writeln!(page, "<li><b>{}</b>: {}.</li>", escape(what), escape(why));
        }
        page.push_str("</ul>\n");
    }
}

/// The cells of a comparison: paper, theory, simulation, engine, lab, difference.
fn numbers(check: &Check) -> String {
    let cells = check.cells();
    let in_words = check
        .paper
        .as_ref()
        .is_some_and(|says| says.words.is_some());
    let kind = |index: usize| match index {
        0 if in_words => " class=\"what\"",
        _ => "",
    };
    let cells = cells.iter().enumerate();
    cells
        .map(|(index, cell)| format!("<td{}>{}</td>", kind(index), escape(cell)))
        .collect()
}
