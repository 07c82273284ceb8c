#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod array;
mod bridge;
#[allow(unsafe_code)]
mod buffer;
mod codec;
mod config;
mod connection;
mod endpoint;
mod errors;
mod event_logs;
mod identity;
mod monitor;
mod pairing;
mod runtime;
mod sim;
#[allow(unsafe_code)]
mod socket;
mod stream;
mod theory;

/// Python aligns its objects to 16 bytes, and does not ask what a class needs.
const fn is_aligned<T>() -> bool {
    align_of::<T>() <= 16
}

const _: () = {
    assert!(is_aligned::<bridge::Operation>());
    assert!(is_aligned::<codec::BlockDecoder>() && is_aligned::<codec::BlockEncoder>());
    assert!(is_aligned::<codec::Coefficients>() && is_aligned::<codec::ReedSolomon>());
    assert!(is_aligned::<codec::Recoder>());
    assert!(is_aligned::<codec::WindowDecoder>() && is_aligned::<codec::WindowEncoder>());
    assert!(is_aligned::<connection::Connection>() && is_aligned::<connection::Message>());
    assert!(is_aligned::<connection::Receipt>() && is_aligned::<endpoint::Endpoint>());
    assert!(is_aligned::<event_logs::EventLogs>());
    assert!(is_aligned::<identity::Allowed>() && is_aligned::<identity::Fingerprint>());
    assert!(is_aligned::<identity::Identity>() && is_aligned::<monitor::Monitor>());
    assert!(is_aligned::<pairing::PairingHost>());
    assert!(is_aligned::<sim::Link>());
    assert!(is_aligned::<theory::Rlnc>() && is_aligned::<theory::Streaming>());
    assert!(is_aligned::<stream::ReadStream>() && is_aligned::<stream::WriteStream>());
};

/// The module below the Python package, which has the documentation.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::bridge::Operation;
    #[pymodule_export]
    use crate::codec::{
        BlockDecoder, BlockEncoder, Coefficients, Recoder, ReedSolomon, WindowDecoder,
        WindowEncoder,
    };
    #[pymodule_export]
    use crate::connection::{Connection, Message, Receipt};
    #[pymodule_export]
    use crate::endpoint::{Endpoint, bind, bind_insecure, from_socket, from_socket_insecure};
    #[pymodule_export]
    use crate::event_logs::EventLogs;
    #[pymodule_export]
    use crate::identity::{Allowed, Fingerprint, Identity};
    #[pymodule_export]
    use crate::monitor::Monitor;
    #[pymodule_export]
    const PAIRING_PROTOCOL: &str = weftline_apps::pairing::PROTOCOL;
    #[pymodule_export]
    use crate::pairing::{PairingHost, pair};
    #[pymodule_export]
    use crate::sim::{
        Link, sim_answered, sim_arq, sim_block, sim_crowd, sim_engine, sim_fecframe,
        sim_fecframe_recommend, sim_rest, sim_rlc_block, sim_streaming, sim_udp_rc,
    };
    #[pymodule_export]
    use crate::stream::{ReadStream, WriteStream};
    #[pymodule_export]
    use crate::theory::{
        Rlnc, Streaming, theory_bianchi, theory_block, theory_block_for_residual,
        theory_blocks_for_residual, theory_fecframe_block_latency,
        theory_fecframe_block_latency_cdf, theory_fecframe_block_residual, theory_fecframe_sizes,
        theory_goodput, theory_rest_redundancy, theory_rest_spacing,
    };
}
