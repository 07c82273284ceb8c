//! What is installed imports nothing that measures it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Packages that measure, and what comes with them.
const MEASURE: [&str; 7] = [
    "weftline-lab",
    "weftline-bench",
    "weftline-papers",
    "weftline-emulator",
    "hdrhistogram",
    "tokio_kcp",
    "raptorq",
];

#[test]
fn the_program_is_built_without_a_laboratory() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let names: BTreeMap<String, String> = packages
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect();
    // What a package is built with, tests apart.
    let mut built_with: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let dependencies = node["deps"].as_array().unwrap().iter();
        let built = dependencies.filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            kinds.iter().any(|kind| kind["kind"] != "dev")
        });
        let built = built.map(|dependency| text(&dependency["pkg"]));
        built_with.insert(text(&node["id"]), built.collect());
    }
    let program = names.iter().find(|(_, name)| *name == "weftline-cli");
    let mut to_do = vec![program.unwrap().0.clone()];
    let mut built: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = to_do.pop() {
        if built.insert(&names[&id]) {
            to_do.extend(built_with[&id].iter().cloned());
        }
    }
    assert!(built.contains("weftline-apps") && built.contains("quinn"));
    let measure: Vec<&str> = MEASURE
        .into_iter()
        .filter(|name| built.contains(name))
        .collect();
    assert!(measure.is_empty(), "weftline-cli is built with {measure:?}");
    // They are in the laboratory: the names are right.
    for name in MEASURE {
        assert!(names.values().any(|known| known == name), "{name}");
    }
}
