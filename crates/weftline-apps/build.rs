//! Puts the page of `weftline view` into the program, if it was built: `packaging/web` does that.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let web = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../weftline-web");
    let page = web.join("dist/page");
    let is_built = page.join("index.html").is_file();
    // What is missing would be looked for at each build.
    if web.is_dir() {
        let watched = if is_built { &page } else { &web };
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut list = String::from("&[\n");
    for file in if is_built { files(&page) } else { Vec::new() } {
        let name = file.file_name().expect("a file has a name");
        let path = file.canonicalize().expect("the file is there");
        writeln!(list, "({name:?}, include_bytes!({path:?})),").expect("a text grows");
    }
    list.push(']');
    let out = Path::new(&variable("OUT_DIR")).join("page.rs");
    fs::write(out, list).expect("cargo's folder can be written");
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn variable(name: &str) -> String {
    env::var(name).expect("cargo sets it")
}
