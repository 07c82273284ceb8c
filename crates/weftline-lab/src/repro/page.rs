//! The report's page: one file, without scripts and without anything to load.

use std::fmt::Write;

use super::check::{Check, Says};
use super::report::{Became, Entry, Report};
use crate::plot::{CHART_STYLE, PAGE_STYLE, escape, figure};

const STYLE: &str = "
td.what, th.what { white-space: normal; min-width: 12rem; text-align: left; }
td.why { white-space: normal; min-width: 14rem; text-align: left; color: var(--faint); }
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
             numbers where it gives any, our formula, our simulation of the paper's own model, and what the \
             lab measured where that applies. Diamonds are the papers' numbers, plain lines formulas, dots \
             simulations with bars of one standard error. Below each figure stand the commands that print \
             its numbers, one for each point.</p>\n";
    overview(&mut page, report);
    for paper in report.papers() {
        let _ = writeln!(page, "<h2>{}</h2>", escape(paper.citation()));
        let own = report.entries.iter().filter(|e| e.figure.paper == paper);
        own.for_each(|entry| section(&mut page, entry));
    }
    let (points, seconds) = report.effort;
    let _ = write!(
        page,
        "<section><h2>How this was made</h2>\n<pre>{}</pre>\n\
         <p>{}. {points} points, {:.1} minutes of one core. A simulation agrees with a formula within 4 of \
         its standard errors. All but the speeds comes out the same again.</p></section>\n\
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
    page.push_str("<th class=\"what\">compared first</th>");
    page.push_str(
        "<th>paper</th><th>theory</th><th>simulation</th><th>lab</th><th>difference</th>",
    );
    page.push_str("<th>verdict on all of it</th></tr>\n");
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
                "<td></td>".repeat(5)
            ),
        };
        let (class, verdict) = verdict(entry);
        let _ = writeln!(
            page,
            "<tr><td class=\"what\"><a href=\"#{id}\">{}</a></td>{cells}<td class=\"{class}\">{}</td></tr>",
            escape(&name),
            escape(&verdict)
        );
    }
    page.push_str("</table></div>\n");
}

/// How all of a figure came out, shortly.
fn verdict(entry: &Entry<'_>) -> (&'static str, String) {
    match &entry.became {
        Became::Skipped(_) => return ("", "skipped".to_owned()),
        Became::Failed(_) => return ("bad", "failed".to_owned()),
        Became::Shown(_) => {}
    }
    let checks = entry.checks();
    let bad = checks.iter().filter(|c| !c.verdict().is_good()).count();
    match (checks.len(), bad) {
        (0, _) => ("", "nothing to compare".to_owned()),
        (1, 0) => ("good", checks[0].verdict().words().to_owned()),
        (all, 0) if checks.iter().any(|c| matches!(c.paper, Says::Nothing)) => (
            "good",
            format!("{all} of {all} agree, where there is a number"),
        ),
        (all, 0) => ("good", format!("{all} of {all} agree")),
        (all, bad) => ("bad", format!("{} of {all} agree; see why", all - bad)),
    }
}

fn section(page: &mut String, entry: &Entry<'_>) {
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
        for plot in &shown.plots {
            page.push_str(&figure(&plot.svg(), &plot.caption));
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
        "<p class=\"small\">Again: <code>weftline repro {} --out DIR</code>{csv}</p>\n\
         <details><summary>{} commands</summary><pre>{}</pre></details>\n</section>",
        figure_.id,
        commands.len(),
        escape(&commands.join("\n"))
    );
}

fn checks(page: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    page.push_str("<div class=\"wide\"><table>\n<tr><th class=\"what\">compared</th><th>paper</th><th>theory</th>");
    page.push_str(
        "<th>simulation</th><th>lab</th><th>difference</th><th>verdict</th><th>why</th></tr>\n",
    );
    for check in checks {
        let verdict = check.verdict();
        let class = if verdict.is_good() { "good" } else { "bad" };
        let _ = writeln!(
            page,
            "<tr><td class=\"what\">{}</td>{}<td class=\"{class}\">{}</td><td class=\"why\">{}</td></tr>",
            escape(&check.what),
            numbers(check),
            escape(verdict.words()),
            escape(check.why.as_deref().unwrap_or_default())
        );
    }
    page.push_str("</table></div>\n");
}

/// The cells of a comparison: paper, theory, simulation, lab, difference.
fn numbers(check: &Check) -> String {
    let paper = match &check.paper {
        Says::Nothing => String::new(),
        Says::Number { value, .. } => short(*value),
        Says::Range(from, to) => format!("{} to {}", short(*from), short(*to)),
        Says::Claim { words, .. } => words.clone(),
    };
    let value = |value: Option<f64>| value.map_or_else(String::new, short);
    let simulation = match check.simulation {
        Some((value, stderr)) if stderr > 0.0 => format!("{} ± {}", short(value), brief(stderr)),
        Some((value, _)) => short(value),
        None => String::new(),
    };
    let class = match check.paper {
        Says::Claim { .. } => " class=\"what\"",
        _ => "",
    };
    format!(
        "<td{class}>{}</td><td>{}</td><td>{simulation}</td><td>{}</td><td>{}</td>",
        escape(&paper),
        value(check.theory),
        value(check.lab),
        escape(&check.difference())
    )
}

/// Four digits that count.
pub(super) fn short(value: f64) -> String {
    digits(value, 4)
}

/// Two.
fn brief(value: f64) -> String {
    digits(value, 2)
}

fn digits(value: f64, digits: i32) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.*e}", digits as usize - 1);
    }
    let decimals = (digits - 1 - size.log10().floor() as i32).clamp(0, 8);
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_count() {
        assert_eq!(
            [1234.56, 12.3456, 0.0123456, 0.5, 0.0].map(short),
            ["1235", "12.35", "0.01235", "0.5", "0"].map(str::to_owned)
        );
        assert_eq!(
            (short(1e-6), brief(0.0123)),
            ("1.000e-6".to_owned(), "0.012".to_owned())
        );
    }
}
