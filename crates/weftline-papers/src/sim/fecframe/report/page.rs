//! The report: one page without scripts and external resources.

use std::fmt::Write;

use super::super::Outcome;
use super::pictures::pictures;
use super::tables::{self, Rows};
use weftline_plot::{escape, figure};

/// The page; `command` is the command that makes it again.
pub fn page(outcomes: &[Outcome], command: &str) -> String {
    let title = "FECFRAME: block against sliding window";
    // Writing to a string cannot fail, here and below.
    let mut page = String::new();
    page += "<p>After Roca, Teibi, Burdinat, Tran and Thienot, \"Block or Convolutional AL-FEC Codes? A \
             Performance Comparison for Robust Low-Latency Communications\". One tick for each source \
             symbol; code rate 2/3; source and repair packets have the same loss rate. The codecs are \
             Weftline's, packets in and ADUs out, and every delivered octet was compared with the \
             sent one.</p>\n";
    section(
        &mut page,
        "On time at 30 % loss",
        "RLC over GF(2^8), ew 83, dw 167: symbols received or decoded within dw ticks, by the size of \
         the linear system and by the decoder's treatment of equations when a symbol leaves it.",
        tables::on_time(outcomes),
    );
    section(
        &mut page,
        "Mean added latency",
        "In ticks, in order, of symbols on time. The paper gives 83.5 for blocks of 167 at any loss.",
        tables::latency(outcomes),
    );
    section(
        &mut page,
        "Speed of receivers",
        "Source bits for each second of processor time, beside the paper's Table II.",
        tables::speed(outcomes),
    );
    section(
        &mut page,
        "Residual loss, beyond the paper",
        "dw 167. ge:LOSS,BURST: losses in runs of BURST packets on average.",
        tables::residual(outcomes),
    );
    page += "<h2>Charts</h2>\n";
    for picture in pictures(outcomes) {
        page += &figure(&picture.svg, &picture.caption);
    }
    let all = html(&tables::table(outcomes));
    let _ = write!(
        page,
        "<details><summary>All numbers</summary>\n<p class=\"small\">Latencies in ticks; \"late\" symbols were \
         decoded after their deadline; standard errors from parts of a twentieth of a run.</p>\n{all}</details>\n\
         <h2>How this was made</h2>\n<pre>{}</pre>\n<p>weftline {}. All numbers but the speeds are \
         repeatable.</p>\n",
        escape(command),
        env!("CARGO_PKG_VERSION"),
    );
    weftline_plot::page(title, "", &page)
}

fn section(page: &mut String, title: &str, about: &str, rows: Option<Rows>) {
    if let Some(rows) = rows {
        let (title, about, table) = (escape(title), escape(about), html(&rows));
        let _ = write!(page, "<h2>{title}</h2>\n<p>{about}</p>\n{table}");
    }
}

fn html(rows: &Rows) -> String {
    let mut text = "<div class=\"wide\"><table>\n".to_owned();
    for (index, row) in rows.iter().enumerate() {
        let kind = if index == 0 { "th" } else { "td" };
        let cells = row
            .iter()
            .map(|cell| format!("<{kind}>{}</{kind}>", escape(cell)));
        let _ = writeln!(text, "<tr>{}</tr>", cells.collect::<String>());
    }
    text + "</table></div>\n"
}
