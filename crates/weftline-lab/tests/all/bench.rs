//! `weftline-lab bench codec` as scripts run it.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline-lab"));
    command.args(["bench", "codec"]).args(arguments);
    command.env_remove("WEFTLINE_KERNEL").output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn contenders(object: &Value) -> Vec<&str> {
    let results = object["results"].as_array().unwrap();
    results
        .iter()
        .map(|r| r["contender"].as_str().unwrap())
        .collect()
}

#[test]
fn results_come_as_one_object_with_the_machine_and_every_ratio() {
    let output = bench(&["--quick", "--filter", "window/repair/", "--json"]);
    let object = json(&output);
    let machine = &object["machine"];
    let kernels = machine["kernels"].as_array().unwrap();
    assert!(kernels.contains(&machine["kernel"]), "{machine}");
    assert_eq!(object["settings"]["scope"], "quick");
    let contenders = contenders(&object);
    for wanted in ["weftline", "weftline rfc8681", "xor", "memcpy"] {
        assert!(contenders.contains(&wanted), "{wanted} of {contenders:?}");
    }
    for result in object["results"].as_array().unwrap() {
        assert_eq!(result["id"], "window/repair/window=128/size=1280");
        assert_eq!(result["parameters"]["window"], 128);
        assert!(result["samples"].as_u64().unwrap() >= 5, "{result}");
        let [least, middle, most] =
            ["gbps_min", "gbps", "gbps_max"].map(|key| result[key].as_f64().unwrap());
        assert!(0.0 < least && least <= middle && middle <= most, "{result}");
        assert!(result["ratio_ceiling"].as_f64().unwrap() > 0.0);
        assert!(result["ratios"]["memcpy"].as_f64().unwrap() > 0.0);
    }
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(progress.contains("1/1 window/repair"), "{progress}");
}

#[test]
#[cfg(feature = "peers")]
fn every_peer_either_takes_part_or_is_said_not_to() {
    let object = json(&bench(&[
        "--quick",
        "--filter",
        "block/encode/k=32",
        "--json",
    ]));
    let contenders = contenders(&object);
    for peer in [
        "isa-l",
        "reed-solomon-simd",
        "reed-solomon-erasure",
        "raptorq",
    ] {
        let skipped = object["skipped"].as_array().unwrap();
        let reason = skipped.iter().find(|skipped| skipped["contender"] == peer);
        match reason {
            None => assert!(contenders.contains(&peer), "{peer} of {contenders:?}"),
            Some(skipped) => assert!(!skipped["reason"].as_str().unwrap().is_empty()),
        }
    }
}

#[test]
fn a_kernel_that_is_asked_for_does_everything() {
    let arguments = [
        "--quick",
        "--filter",
        "kernel/dot",
        "--kernel",
        "scalar",
        "--json",
    ];
    let object = json(&bench(&arguments));
    assert_eq!(object["machine"]["kernel"], "scalar");
    let ours = contenders(&object)
        .into_iter()
        .filter(|name| name.starts_with("weftline"));
    assert_eq!(ours.collect::<Vec<_>>(), ["weftline scalar"]);
}

#[test]
fn people_get_a_table_and_no_results_where_nothing_is_asked_for() {
    let output = bench(&["--quick", "--filter", "kernel/xor"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "kernel/xor/k=64/size=1280",
        "GB/s",
        "weftline scalar",
        "memcpy",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let list = bench(&["--list", "--filter", "kernel/dot"]);
    let names = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(names.lines().all(|name| name.starts_with("kernel/dot/")) && !names.is_empty());
    let nothing = bench(&["--filter", "no such case"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("--list"));
}
