//! The report of a comparison, from runs that were kept.

use std::path::Path;

use weftline_lab::compare::{Record, Results, Runs, markdown, page};
use weftline_plot::escape;

/// Real runs of the quick suites, shortened; some made worse, to see what becomes of them.
fn kept() -> Vec<Record> {
    Runs::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")).unwrap()
}

#[test]
fn the_tables_of_kept_runs() {
    insta::assert_snapshot!(markdown(&Results::of(&kept())));
}

#[test]
fn the_page_has_every_suite_and_loads_nothing() {
    let results = Results::of(&kept());
    let page = page(&results, "weftline-lab compare B --out <DIR>");
    for suite in &results.suites {
        let title = escape(&suite.title);
        assert!(page.contains(&format!("<h2>{}: {title}</h2>", suite.name)));
    }
    // A chart of bars each for A, C and D (one measure, and three more for D); two scatter plots
    // and a distribution for B; the same and block sizes for Karzand.
    assert_eq!(page.matches("<svg ").count(), 1 + 1 + 4 + 3 + 4);
    for word in ["<script", "http:", "https:", "src=", "NaN", "inf,"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("--out &lt;DIR&gt;"), "the command is text");
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn results_as_json_have_medians_and_ranges() {
    let results = serde_json::to_value(Results::of(&kept())).unwrap();
    let stream = results["suites"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["name"] == "B")
        .unwrap();
    let row = &stream["cases"][0]["rows"][0];
    assert_eq!(row["peer"], "weftline");
    assert_eq!((&row["runs"], &row["used"]), (&2.into(), &2.into()));
    let mean = &row["values"]["mean"];
    assert!(mean["min"].as_f64().unwrap() < mean["median"].as_f64().unwrap());
    assert_eq!(mean["n"], 2);
    assert!(row["cdf"].as_array().unwrap().len() > 3);
}
