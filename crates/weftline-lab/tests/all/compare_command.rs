//! `weftline-lab compare` as others see it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn compare(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline-lab"));
    command
        .args(["compare"])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_list_has_every_suite_with_links_and_peers() {
    let out = compare(&["list"]).output().unwrap();
    assert!(out.status.success());
    let out = text(&out.stdout);
    for part in [
        "A - bulk",
        "karzand - ",
        "udp-rc - ",
        "R - recorded links (--traces FOLDER)",
        "loss=ge:10%,4",
        "weftline/streaming,l=5",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn wrong_requests_say_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for (arguments, part) in [
        (&["B"][..], "--out DIR"),
        (&["E", "--out", out], "A, B, C, D, karzand, udp-rc, R"),
        (&["R", "--out", out], "--traces FOLDER"),
        (&["R", "--out", out, "--traces", out], "mahimahi's format"),
        (&["B", "--out", out, "--traces", out], "`compare R`"),
        (
            &["B", "--out", out, "--peers", "l=5"],
            "weftline/streaming,l=5",
        ),
        (&["B", "--out", out, "--peers", "tpc"], "--ext tpc=PROGRAM"),
        (
            &["B", "--out", out, "--peers", "kcp/x=1"],
            "unknown setting `x`",
        ),
        (&["B", "--out", out, "--report-only"], "runs.jsonl"),
        (&["own", "--out", out], "--link LINK"),
        (
            &["B", "--out", out, "--link", "rate=1mbit"],
            "`compare own`",
        ),
        (
            &[
                "own",
                "--out",
                out,
                "--link",
                "rate=1mbit",
                "--load",
                "files",
            ],
            "xfer n=10",
        ),
    ] {
        let output = compare(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn the_report_is_made_again_from_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs.jsonl");
    fs::copy(data, folder.path().join("runs.jsonl")).unwrap();
    let out = folder.path().to_str().unwrap();
    let output = compare(&["B", "--out", out, "--report-only"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("table.md").contains("## Suite B: stream"));
    assert!(read("report.html").ends_with("</html>\n"));
    assert!(serde_json::from_str::<Value>(&read("results.json")).is_ok());
}

/// Root only: a short comparison is stopped by Ctrl-C, leaves whole lines and no namespace, and
/// goes on to its end.
#[test]
fn a_comparison_that_was_stopped_goes_on() {
    if !weftline_testkit::can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = [
        "B",
        "--quick",
        "--secs",
        "2",
        "--peers",
        "tcp,weftline",
        "--out",
        out,
    ];
    let mut child = compare(&arguments).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while lines(folder.path()).is_empty() {
        assert!(Instant::now() < end, "no run ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    weftline_testkit::signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let ours = format!("weftline-{}-", child.id());
    assert!(
        !left
            .into_iter()
            .any(|e| e.file_name().to_string_lossy().starts_with(&ours))
    );
    let before = lines(folder.path());
    let is_good = |line: &&Value| line["valid"] == true;
    assert!(
        before.iter().filter(is_good).count() < 4,
        "it was stopped before its end"
    );

    let output: Output = compare(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let after = lines(folder.path());
    assert_eq!(after[..before.len()], before, "what was kept stays");
    let mut names: Vec<String> = after
        .iter()
        .map(|l| format!("{} {}", l["case"], l["peer"]))
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "two links, two peers");
    for line in &after {
        // What went wrong is said; the rest has results.
        if line["valid"] == false {
            assert!(line["error"].is_string() || !line["problems"].as_array().unwrap().is_empty());
            continue;
        }
        assert!(
            line["flows"][0]["received"]["mean"].as_f64().unwrap() > 30.0,
            "{line}"
        );
        assert!(line["path"]["a_to_b"]["losses"].as_f64().unwrap() > 0.0);
    }
    assert!(
        fs::read_to_string(folder.path().join("report.html"))
            .unwrap()
            .contains("<svg ")
    );
}

/// Root only: a path and a workload of the user's own, with nothing kept.
#[test]
fn an_own_path_gives_the_time_of_every_transfer() {
    if !weftline_testkit::can_emulate_paths() {
        return;
    }
    let output = compare(&[
        "own",
        "--link",
        "rate=50mbit delay=5ms",
        "--load",
        "xfer n=3 size=20000",
        "--peers",
        "weftline/udp-rc,carrier=udp,tcp,no-such-transport",
        "--skip-missing",
        "--seeds",
        "1",
        "--json",
    ])
    .output()
    .unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("skipped: no-such-transport") && !said.contains("report:"),
        "{said}"
    );
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(results["kernel"].as_str().unwrap().starts_with("Linux "));
    let suite = &results["suites"][0];
    assert_eq!(suite["name"], "own-xfer");
    let rows = suite["cases"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        let times = row["transfers"][0].as_array().unwrap();
        assert_eq!(times.len(), 3, "{row}");
        // Not before they can arrive, whatever this machine does beside.
        assert!(times.iter().all(|t| t.as_f64().unwrap() > 5.0), "{row}");
    }
}
