//! Tests that need a tool which the machine may not have.

/// This test cannot run because the machine has no `what`. With `CI=true` that is a failure, unless
/// `WEFTLINE_UNABLE`, separated by commas, lists `what`.
pub(crate) fn unable(what: &str, why: &str) {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let listed = var("WEFTLINE_UNABLE").split(',').any(|known| known == what);
    assert!(
        var("CI") != "true" || listed,
        "{why}. If this machine cannot have it, set WEFTLINE_UNABLE={what}"
    );
    println!("did not run: {why}");
}
