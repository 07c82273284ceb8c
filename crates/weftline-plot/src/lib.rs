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
/// The style sheet of the page around them.
pub const PAGE_STYLE: &str = include_str!("page.css");
/// Number of colours.
pub const STYLES: usize = 12;

/// `chart` with its caption.
pub fn figure(chart: &str, caption: &str) -> String {
    format!(
        "<figure>{chart}<figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}
