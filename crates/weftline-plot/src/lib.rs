#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod axis;
mod bars;
mod canvas;
mod chart;
mod clip;
mod legend;
mod look;
mod series;
#[cfg(test)]
mod style_tests;
mod surface;
mod text;
mod thin;

pub use axis::{Axis, number};
pub use bars::{Bar, bars};
pub use canvas::{Anchor, Canvas, Ink};
pub use chart::{Width, chart, chart_of, escape, sample};
pub use clip::clip;
pub use look::{DASHES, Look, Mark, Shape, Stroke, distinct};
pub use series::{Curve, Marks, Series};
pub use surface::{SurfaceLabels, surface};

/// The style sheet of charts.
pub const CHART_STYLE: &str = include_str!("chart.css");
/// Number of colours.
pub const STYLES: usize = 12;

/// A whole page: its title, rules of its own for the style sheet, and what it shows below the title, as HTML.
pub fn page(title: &str, style: &str, body: &str) -> String {
    let (title, page_style) = (escape(title), include_str!("page.css"));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{CHART_STYLE}{page_style}{style}</style></head>\n\
         <body><main>\n<h1>{title}</h1>\n{body}</main></body></html>\n"
    )
}

/// `chart` with its caption.
pub fn figure(chart: &str, caption: &str) -> String {
    format!(
        "<figure>{chart}<figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}
