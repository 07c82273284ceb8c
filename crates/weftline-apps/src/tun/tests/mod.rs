//! The tunnel: its parts by themselves, then end to end.

mod addresses;
mod ends;
mod fairness;
mod headers;
mod lane;
mod order;
mod packets;
mod world;
