//! Experiments on emulated paths.
//!
//! [`load`] measures a transport from the application's side. `path` (Linux) joins two network
//! namespaces by TUN devices and an emulator that uses the links of `weftline-netem`, so that any
//! program runs over them unchanged; [`links`] parses the links' text form. [`theory`] has the
//! papers' formulas, [`sim`] the simulations in virtual time.
#![deny(unsafe_code)]

pub mod compare;
pub mod links;
pub mod load;
#[cfg(target_os = "linux")]
pub mod path;
pub mod plot;
pub mod repro;
pub mod sim;
pub mod theory;
