//! Gives the shared library its SONAME.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let (major, minor) = (
        var("CARGO_PKG_VERSION_MAJOR"),
        var("CARGO_PKG_VERSION_MINOR"),
    );
    // As cargo reads versions: before 1.0 each minor version may break the ABI. `install` makes a
    // link of this name.
    let abi = match major.as_str() {
        "0" => format!("0.{minor}"),
        _ => major,
    };
    let elf = var("CARGO_CFG_TARGET_FAMILY") == "unix" && var("CARGO_CFG_TARGET_VENDOR") != "apple";
    if elf {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libweftline.so.{abi}");
    }
}
