#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bars;
mod canvas;
mod chart;
mod surface;

pub use bars::{Bar, bars};
pub use canvas::{Anchor, Canvas, Ink};
pub use chart::{Axis, Marks, Series, Whisker, chart, chart_with, escape, number};
pub use surface::{SurfaceLabels, surface};

/// The style sheet of charts.
pub const CHART_STYLE: &str = include_str!("chart.css");
/// The style sheet of the page around them.
pub const PAGE_STYLE: &str = include_str!("page.css");
/// Number of styles of series: series that share a style are distinguished by their names.
pub const STYLES: usize = 12;

/// `chart` with its caption.
pub fn figure(chart: &str, caption: &str) -> String {
    format!(
        "<figure>{chart}<figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}
