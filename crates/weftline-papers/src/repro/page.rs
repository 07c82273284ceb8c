//! The report's page: one file without scripts and external resources.

use std::fmt::Write;

use super::check::{Check, Verdict};
use super::picture::Source;
use super::report::{Became, Entry, Report, is_speed, reasons};
use weftline_plot::escape;

const STYLE: &str = include_str!("page.css");

/// Heads of the columns with numbers.
const HEADS: &str = "<th>paper</th><th>theory</th><th>simulation</th><th>engine</th><th>lab</th><th>difference</th>";

/// Heading of the entries that show no figure of their paper.
const MORE: &str = "More than the papers show";

/// The rules of verdicts, in the words of a reader.
const RULES: [(&str, &str); 7] = [
    (
        "A printed number",
        "agrees within 4 standard errors and half of its last printed digit. Where the paper shows one run, the \
         spread of runs counts too.",
    ),
    (
        "\u{201c}About\u{201d}",
        "agrees within a factor of 1.25 either way.",
    ),
    (
        "A range, a bound, an ordering",
        "agrees if the value is on its side, by more than 2 standard errors. Of several points the worst one is \
         compared.",
    ),
    (
        "Inconclusive",
        "the errors are wider than the effect: the value may be on either side.",
    ),
    (
        "Agrees with theory",
        "the paper states nothing; our formula and our simulation are within 4 standard errors. If they are not, \
         the verdict is \u{201c}theory and simulation differ\u{201d}, whatever the paper says.",
    ),
    (
        "Speed",
        "is kept apart from agreement: a newer machine says nothing about the paper's result.",
    ),
    (
        "Engine and model",
        "differ if they are more than 4 of their joint standard errors apart. The reason is given, or it says \
         that there is none.",
    ),
];

/// What the marks of the charts mean.
const MARKS: [(Source, &str); 5] = [
    (Source::Paper, "diamonds: printed in the paper"),
    (Source::Theory, "thin lines without marks: a formula"),
    (
        Source::Simulation,
        "filled marks: a simulation of the paper's model",
    ),
    (
        Source::Engine,
        "open marks on a dashed line: Weftline's engine with its preset, in virtual time",
    ),
    (
        Source::Measured,
        "squares: measured on a machine, in the lab",
    ),
];

/// Columns of the first table: verdicts on results. The speeds follow.
const VERDICTS: [&[Verdict]; 5] = [
    &[Verdict::Agrees],
    &[Verdict::AgreesWithTheory],
    &[Verdict::Inconclusive],
    &[Verdict::Differs, Verdict::Contradicts],
    &[Verdict::NoNumber],
];

/// The page.
pub fn page(report: &Report<'_>) -> String {
    let title = "The papers' figures, run again";
    // Writing to a string cannot fail, here and below.
    let mut page = String::new();
    page += "<p>Each figure and table of the five papers that Weftline builds on, run again. The column \
             <b>paper</b> has only what the paper prints, <b>theory</b> our formula, <b>simulation</b> our \
             simulation of the paper's model, <b>engine</b> Weftline itself with the preset of that paper, and \
             <b>lab</b> what was measured on a machine. \u{201c}\u{b1}\u{201d} is one standard error. The \
             difference is to the paper's number, or from simulation to theory in standard errors \
             (\u{3c3}). Below each figure are the commands that print its numbers, one for each point.</p>\n";
    rules(&mut page);
    contents(&mut page, report);
    overview(&mut page, report);
    for paper in report.papers() {
        let (id, citation) = (paper.id(), escape(paper.citation()));
        let _ = writeln!(page, "<h2 id=\"{id}\">{citation}</h2>");
        let mut is_more = false;
        for entry in report.of(paper) {
            if !entry.figure.is_of_paper() && !is_more {
                is_more = true;
                let _ = writeln!(page, "<h3>{MORE}</h3>");
            }
            section(&mut page, entry, &report.options);
        }
    }
    let (points, seconds) = report.effort;
    let _ = write!(
        page,
        "<section><h2>How this was made</h2>\n<pre>{}</pre>\n\
         <p>{}. {points} points, which took {:.1} minutes of one processor in total. All numbers but those of the lab \
         and the speeds are repeatable.</p></section>\n",
        escape(&report.command),
        escape(&report.program),
        seconds / 60.0,
    );
    weftline_plot::page(title, STYLE, &page)
}

/// The rules of verdicts and the marks of the charts.
fn rules(page: &mut String) {
    page.push_str("<h2>Marks and verdicts</h2>\n<ul class=\"marks\">\n");
    for (source, words) in MARKS {
        let _ = writeln!(page, "<li>{}{}</li>", source.sample(), escape(words));
    }
    page.push_str(
        "</ul>\n<p>A colour is a quantity: lines of one colour are about the same thing. Bars are one standard \
         error. Of lines without marks the dash tells them apart, of lines with marks the shape, so that a \
         printer without colours suffices. Verdicts follow rules that were fixed before the runs, by the kind \
         of statement:</p>\n<ul>\n",
    );
    for (kind, words) in RULES {
        let _ = writeln!(page, "<li><b>{}</b>: {}</li>", escape(kind), escape(words));
    }
    page.push_str("</ul>\n");
}

/// The name of an entry: the paper's, or its own.
fn name(entry: &Entry<'_>) -> String {
    match entry.figure.is_of_paper() {
        true => entry.figure.number(),
        false => entry.figure.id.to_owned(),
    }
}

/// Links to all figures, paper by paper.
fn contents(page: &mut String, report: &Report<'_>) {
    page.push_str("<h2>Contents</h2>\n<nav><ul class=\"toc\">\n");
    for paper in report.papers() {
        let links = report.of(paper).into_iter().map(|entry| {
            let (id, name) = (entry.figure.id, escape(&name(entry)).replace(' ', "\u{a0}"));
            format!("<a href=\"#{id}\">{name}</a>")
        });
        let _ = writeln!(
            page,
            "<li><a href=\"#{}\">{}</a><br>{}</li>",
            paper.id(),
            escape(paper.citation()),
            links.collect::<Vec<_>>().join(", ")
        );
    }
    page.push_str("</ul></nav>\n");
}

/// The first table: a row for each figure.
fn overview(page: &mut String, report: &Report<'_>) {
    page.push_str(
        "<h2>All figures</h2>\n<div class=\"wide\"><table class=\"k all\">\n<thead><tr><th>figure</th>\
         <th>title</th><th>agrees</th><th>with theory</th><th>inconclusive</th><th>differs</th>\
         <th>nothing stated</th><th>speed</th><th>remarks</th></tr></thead>\n<tbody>\n",
    );
    for paper in report.papers() {
        let _ = writeln!(
            page,
            "<tr class=\"part\"><td colspan=\"9\">{}</td></tr>",
            escape(paper.citation())
        );
        for entry in report.of(paper) {
            row(page, entry);
        }
    }
    page.push_str("</tbody></table></div>\n");
}

fn row(page: &mut String, entry: &Entry<'_>) {
    let figure = entry.figure;
    let _ = write!(
        page,
        "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td>",
        figure.id,
        escape(&name(entry)),
        escape(figure.title)
    );
    for verdicts in VERDICTS {
        let count: usize = verdicts.iter().map(|verdict| entry.count(*verdict)).sum();
        let class = match verdicts[0].is_good() {
            true => "",
            false => " class=\"bad\"",
        };
        let _ = match count {
            0 => write!(page, "<td></td>"),
            count => write!(page, "<td{class}>{count}</td>"),
        };
    }
    let speeds: Vec<String> = [Verdict::FastEnough, Verdict::Slower]
        .into_iter()
        .filter(|verdict| entry.count(*verdict) > 0)
        .map(|verdict| format!("{} {}", entry.count(verdict), verdict.words()))
        .collect();
    let _ = writeln!(
        page,
        "<td>{}</td><td>{}</td></tr>",
        speeds.join(", "),
        escape(&entry.remarks().join("; "))
    );
}

fn section(page: &mut String, entry: &Entry<'_>, options: &str) {
    let figure = entry.figure;
    let _ = writeln!(
        page,
        "<section id=\"{}\"><h3>{}: {}</h3>\n<p>{}</p>",
        figure.id,
        escape(&name(entry)),
        escape(figure.title),
        escape(figure.shows)
    );
    if let Became::Shown(shown) = &entry.became {
        for picture in &shown.pictures {
            let caption = escape(picture.caption());
            let _ = writeln!(
                page,
                "<figure>{}<figcaption>{caption}</figcaption></figure>",
                picture.html()
            );
        }
        let (speeds, results): (Vec<&Check>, Vec<&Check>) =
            shown.checks.iter().partition(|check| is_speed(check));
        checks(page, "", &results);
        checks(page, "Speed, apart from agreement", &speeds);
    }
    let _ = writeln!(page, "<p><b>{}</b></p>", escape(&entry.agreement()));
    if let Became::Shown(shown) = &entry.became {
        for note in &shown.notes {
            let _ = writeln!(page, "<p>{}</p>", escape(note));
        }
    }
    for absent in &entry.unmeasured {
        let _ = writeln!(
            page,
            "<p class=\"small\">Not measured: {}</p>",
            escape(absent)
        );
    }
    let commands: Vec<String> = figure.points.iter().map(ToString::to_string).collect();
    let csv = match entry.csv() {
        Some(_) => format!(
            "; numbers: <a href=\"data/{id}.csv\">data/{id}.csv</a>",
            id = figure.id
        ),
        None => String::new(),
    };
    let _ = writeln!(
        page,
        "<p class=\"small\">Again: <code>weftline-lab repro {}{} --out DIR</code>{csv}</p>\n\
         <details><summary>{} commands</summary><pre>{}</pre></details>\n</section>",
        figure.id,
        escape(options),
        commands.len(),
        escape(&commands.join("\n"))
    );
}

/// A table of comparisons. A reason stands below the comparison; one that several share stands once.
fn checks(page: &mut String, heading: &str, checks: &[&Check]) {
    if checks.is_empty() {
        return;
    }
    if !heading.is_empty() {
        let _ = writeln!(page, "<h4>{}</h4>", escape(heading));
    }
    let _ = writeln!(
        page,
        "<div class=\"wide\"><table class=\"k c\">\n<thead><tr><th>compared</th>{HEADS}<th>verdict</th></tr></thead>\n<tbody>"
    );
    let mut told: Vec<(String, &str)> = Vec::new();
    for check in checks {
        let verdict = check.verdict();
        let class = match verdict {
            Verdict::Agrees | Verdict::AgreesWithTheory | Verdict::FastEnough => "good",
            Verdict::NoNumber | Verdict::Inconclusive => "open",
            Verdict::Differs | Verdict::Contradicts | Verdict::Slower => "bad",
        };
        let mut below = Vec::new();
        for why in reasons(check) {
            match told.iter().find(|(other, _)| *other == why) {
                Some((_, what)) if why.chars().count() > 60 => {
                    below.push(format!("as for \u{201c}{what}\u{201d}"));
                }
                _ => {
                    below.push(why.clone());
                    told.push((why, &check.what));
                }
            }
        }
        let cells = check.cells();
        let cells = cells
            .iter()
            .map(|cell| format!("<td>{}</td>", escape(cell)));
        let has = if below.is_empty() {
            ""
        } else {
            " class=\"has\""
        };
        let _ = writeln!(
            page,
            "<tr{has}><td>{}</td>{}<td class=\"{class}\">{}</td></tr>",
            escape(&check.what),
            cells.collect::<String>(),
            escape(verdict.words()),
        );
        if !below.is_empty() {
            let text = escape(&below.join(". "));
            let _ = writeln!(
                page,
                "<tr class=\"why\"><td colspan=\"8\">{text}.</td></tr>"
            );
        }
    }
    page.push_str("</tbody></table></div>\n");
}
