//! The committed header is what cbindgen makes of the source. `WEFTLINE_HEADER=write` accepts a new one.

use std::path::Path;

/// In the order in which they are declared.
const SOURCES: [&str; 12] = [
    "status",
    "coefficients",
    "block",
    "window",
    "recoder",
    "config",
    "session",
    "output",
    "stream",
    "message",
    "close",
    "stats",
];

#[test]
fn the_committed_header_is_that_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("it is committed");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut made = Vec::new();
    builder
        .generate()
        .expect("the source is sound")
        .write(&mut made);
    let made = String::from_utf8(made).expect("the source is UTF-8");
    let path = root.join("include/weftline.h");
    if std::env::var_os("WEFTLINE_HEADER").is_some_and(|value| value == "write") {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "include/weftline.h is not what cbindgen makes: accept it with \
         WEFTLINE_HEADER=write cargo test -p weftline-capi --test header"
    );
}

/// A foreign function that is given a reference may assume that no other has its target, and one that
/// is given a `bool` that its byte is 0 or 1. A caller in C promises neither. Only a handle, which is the
/// first parameter and a type of this crate, may be a reference to write to.
#[test]
fn no_function_takes_what_c_cannot_promise() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for source in SOURCES {
        let path = root.join(format!("src/{source}.rs"));
        let text = std::fs::read_to_string(path).expect("the source can be read");
        let declared = text.split("extern \"C\" fn ").skip(1);
        for function in declared.map(|rest| rest.split(" {\n").next().unwrap_or(rest)) {
            let (parameters, _) = function.rsplit_once(')').expect("it has parameters");
            let promised = ["MaybeUninit", ": bool"];
            let found = promised
                .iter()
                .find(|promise| parameters.contains(*promise));
            assert_eq!(found, None, "{source}: {function}");
            let (handle, places) = parameters.split_once(',').unwrap_or((parameters, ""));
            assert!(!places.contains("&mut"), "{source}: {function}");
            let target = handle.split_once("&mut ").map(|(_, target)| target);
            let is_ours = |target: &str| target.starts_with(char::is_uppercase);
            assert!(target.is_none_or(is_ours), "{source}: {function}");
        }
    }
}
