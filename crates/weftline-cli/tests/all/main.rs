//! Tests of the program `weftline`. They are one binary: each one takes seconds to link. `media` is beside it,
//! as it needs a processor alone.
#![allow(clippy::unwrap_used)]

mod arrows;
#[cfg(unix)]
mod cast;
#[cfg(unix)]
mod forward;
#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
#[path = "../inside/mod.rs"]
mod inside;
mod limits;
#[cfg(unix)]
mod monitor;
#[cfg(target_os = "linux")]
mod nearby;
#[cfg(target_os = "linux")]
mod packaging;
mod pairing;
#[cfg(target_os = "linux")]
mod paths;
mod program;
#[cfg(unix)]
mod relay;
mod running;
#[cfg(unix)]
mod services;
mod strangers;
mod transfer;
#[cfg(target_os = "linux")]
mod transparent;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
mod tun_system;
#[cfg(target_os = "linux")]
mod two_modems;
#[cfg(unix)]
mod view;
