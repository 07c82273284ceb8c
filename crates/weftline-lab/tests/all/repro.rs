//! `weftline-lab repro`: figures, reports and points that are not run twice.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{lab, printed};

fn read(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_report_is_made_and_its_points_are_not_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = [
        "repro",
        "garrido-3",
        "rest-table-3",
        "garrido-9",
        "--quick",
        "--seed",
        "5",
        "--out",
        out,
        "--json",
    ];
    let first: Value = serde_json::from_str(&printed(&lab(&arguments))).unwrap();
    let status = |figure: usize| first["figures"][figure]["status"].as_str().unwrap();
    // No picture of these has a fault: lines alike, equal pictures, axes without labels.
    for figure in first["figures"].as_array().unwrap() {
        assert_eq!(
            figure["faults"].as_array().map(Vec::len),
            Some(0),
            "{figure}"
        );
    }
    // In the report's order, whatever that of the command line.
    assert_eq!([0, 1, 2].map(status), ["shown", "shown", "skipped"]);
    let reason = first["figures"][2]["reason"].as_str().unwrap();
    assert!(reason.contains("ns3/build"), "{reason}");

    let html = read(folder.path(), "report.html");
    for piece in [
        "id=\"garrido-3\"",
        "id=\"rest-table-3\"",
        "<svg",
        "data/garrido-3.csv",
        "@media print",
    ] {
        assert!(html.contains(piece), "{piece}");
    }
    assert!(
        !html.contains("<script") && !html.contains("http"),
        "self-contained"
    );
    let csv = read(folder.path(), "data/garrido-3.csv");
    assert!(csv.starts_with("chart,line,source,x_label,x,y_label,y,stderr\n"));
    // 9 + 4 bytes are fewer than 9 + ceil(K q / 8) when K q > 32.
    assert!(csv.contains(
        "1,\"K q > 32\",theory,\"smallest K, packets of a block\",33,\"q, bits of a coefficient\",1,0\n"
    ));
    assert!(read(folder.path(), "table.md").contains("| rest-table-3 | R 0: duration"));

    // A number of the report is what its command prints.
    let points = read(folder.path(), "points.jsonl");
    let point: Value = points
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|point| {
            let command = point["command"].as_str().unwrap();
            command.contains("--redundancy 0.2") && !command.contains("--window")
        })
        .unwrap();
    let command = point["command"].as_str().unwrap();
    assert!(
        html.contains(command) && command.contains("--seed 5"),
        "{command}"
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let alone: Value = serde_json::from_str(&printed(&lab(&words))).unwrap();
    assert_eq!(alone, point["value"]);
    let mean = alone["mean_delay_s"]["mean"].as_f64().unwrap();
    let csv = read(folder.path(), "data/rest-table-3.csv");
    let is_mean = |line: &str| line.contains(",0.2,") && line.contains(&format!(",{mean},"));
    assert!(csv.lines().any(is_mean), "{mean} {csv}");

    // Again: the same report, and no point run.
    let again: Value = serde_json::from_str(&printed(&lab(&arguments))).unwrap();
    assert_eq!(again, first);
    assert_eq!(read(folder.path(), "points.jsonl"), points);
    // Stopped in the middle of a line: only that point is run again.
    let cut = points.trim_end().len() - 20;
    std::fs::write(folder.path().join("points.jsonl"), &points[..cut]).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&printed(&lab(&arguments))).unwrap(),
        first
    );
    let kept = read(folder.path(), "points.jsonl");
    let whole = kept
        .lines()
        .filter(|line| serde_json::from_str::<Value>(line).is_ok());
    assert_eq!(whole.count(), points.lines().count());
    assert_eq!(
        kept.lines().count(),
        points.lines().count() + 1,
        "the cut line and the point again"
    );
}

#[test]
fn a_run_that_was_killed_in_the_middle_is_continued() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [stopped, whole] = [0, 1].map(|n: usize| folders[n].path());
    let arguments = |folder: &Path| {
        let out = folder.to_str().unwrap().to_owned();
        let words = [
            "repro",
            "rest-table-3",
            "garrido-3",
            "--quick",
            "--jobs",
            "1",
        ];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.extend(["--out".to_owned(), out, "--json".to_owned()]);
        words
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline-lab"));
    command.args(arguments(stopped));
    command.stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    let mut run = command.spawn().unwrap();
    let points = stopped.join("points.jsonl");
    let lines = || std::fs::read_to_string(&points).map_or(0, |text| text.matches('\n').count());
    while lines() < 2 {
        assert_eq!(run.try_wait().unwrap(), None, "it ended before two points");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(
        !stopped.join("report.html").exists(),
        "it was killed in the middle"
    );
    let before = read(stopped, "points.jsonl");
    let kept = before
        .lines()
        .filter(|l| serde_json::from_str::<Value>(l).is_ok());
    let kept: Vec<&str> = kept.collect();

    let words = |folder: &Path| {
        let words = arguments(folder);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        serde_json::from_str::<Value>(&printed(&lab(&words))).unwrap()
    };
    assert_eq!(words(stopped), words(whole), "the same report as in one go");
    let after = read(stopped, "points.jsonl");
    assert!(after.starts_with(&before), "what was kept stays");
    for line in kept {
        let command = &serde_json::from_str::<Value>(line).unwrap()["command"];
        let runs = after.matches(&format!("{{\"command\":{command}")).count();
        assert_eq!(runs, 1, "{command} was run again");
    }
}

#[test]
fn figures_are_listed_with_their_commands() {
    let text = printed(&lab(&["repro", "--list"]));
    assert!(
        text.lines().count() > 30 && text.contains("karzand-table-1"),
        "{text}"
    );
    let text = printed(&lab(&["repro", "karzand-6", "--list", "--quick", "--json"]));
    let list: Value = serde_json::from_str(&text).unwrap();
    let points = list["figures"][0]["points"].as_array().unwrap();
    let simulated = |point: &&Value| {
        let command = point["command"].as_str().unwrap();
        command.starts_with("weftline-lab sim streaming --loss 0.1 ")
    };
    let point = points.iter().find(simulated).unwrap();
    assert_eq!(point["program"], "weftline-lab");
    assert_eq!(point["arguments"][0], "sim");
    assert_eq!(list["figures"][0]["number"], "Fig. 6");
    assert!(list["figures"][0]["about_s"].as_f64().unwrap() > 0.0 && point["optional"] == false);
}

#[test]
fn a_figure_that_does_not_exist_is_answered_with_those_that_do() {
    let output = lab(&["repro", "karzand-99", "--out", "nowhere"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("karzand-99") && said.contains("karzand-10") && said.contains("udp-rc-4"),
        "{said}"
    );
    assert!(!Path::new("nowhere").exists());
    // Without --out there is nowhere to keep anything.
    assert_eq!(lab(&["repro"]).status.code(), Some(2));
}
