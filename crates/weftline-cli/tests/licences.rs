//! Everything that is linked is under a licence that the project's own allows.

use std::process::Command;

/// Permissive licences, by SPDX identifier.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be met with allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.trim();
    if let Some(inner) = enclosed(expression) {
        return is_allowed(inner);
    }
    // The slash is how OR was written once.
    for (operator, any) in [(" OR ", true), ("/", true), (" AND ", false)] {
        let parts = split(expression, operator);
        if parts.len() > 1 {
            return match any {
                true => parts.into_iter().any(is_allowed),
                false => parts.into_iter().all(is_allowed),
            };
        }
    }
    ALLOWED.contains(&expression)
}

/// What a pair of parentheses around the whole expression holds.
fn enclosed(expression: &str) -> Option<&str> {
    let inner = expression.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0i32;
    for c in inner.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return None;
        }
    }
    Some(inner)
}

/// Splits at an operator outside parentheses.
fn split<'a>(expression: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in expression.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && i >= start && expression[i..].starts_with(operator) {
            parts.push(&expression[start..i]);
            start = i + operator.len();
        }
    }
    parts.push(&expression[start..]);
    parts
}

#[test]
fn expressions_are_understood() {
    for good in [
        "MIT",
        "MIT/GPL-3.0",
        "(MIT OR GPL-3.0) AND ISC",
        "ISC AND (Apache-2.0 OR ISC)",
    ] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(GPL-3.0 OR AGPL-3.0) AND MIT",
        "",
        "MITX",
    ] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

/// A tool that tests alone run, and of which nothing gets into what is built: it writes the C header
/// that is committed, and leaves no mark in it.
const TOOL: (&str, &str) = ("cbindgen", "MPL-2.0");

/// Whether this package is that tool, and nothing but tests depend on it.
fn is_a_tests_tool(package: &serde_json::Value, nodes: &[serde_json::Value]) -> bool {
    let is_it = package["name"] == TOOL.0 && package["license"] == TOOL.1;
    let dependents = nodes.iter().flat_map(|node| node["deps"].as_array());
    let mut uses = dependents.flatten().filter(|d| d["pkg"] == package["id"]);
    let tests_only = |dependency: &serde_json::Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind["kind"] == "dev"))
    };
    is_it && uses.all(tests_only)
}

#[test]
fn every_dependency_has_a_licence_that_ours_allows() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
        ])
        .arg(host())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // The resolution holds what this platform uses; `packages` would do too, but for platforms
    // that nobody builds here.
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let used: Vec<&str> = nodes
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    assert!(used.len() > 50, "{} packages", used.len());
    for package in metadata["packages"].as_array().expect("packages") {
        if !package["id"].as_str().is_some_and(|id| used.contains(&id)) {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(
            is_allowed(licence) || is_a_tests_tool(package, nodes),
            "{} {} is licensed `{licence}`: use another crate",
            package["name"],
            package["version"]
        );
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|s| s.starts_with("registry+")),
            "{} does not come from a registry: {source:?}",
            package["name"]
        );
    }
}

/// The target triple of this compiler.
fn host() -> String {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}
