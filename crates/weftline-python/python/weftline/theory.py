"""The papers' formulas, with their errors corrected. The reference page on theory gives each of them in words.

Delays are in slots, and losses are ``"0.05"``, ``"5%"`` or ``"markov:SHARE,MEAN_RUN"``. All functions raise
:class:`ModelError` for parameters out of range. Those that return arrays need numpy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from ._native import (
    Rlnc,
    Streaming,
    theory_bianchi,
    theory_block,
    theory_block_for_residual,
    theory_blocks_for_residual,
    theory_fecframe_block_latency,
    theory_fecframe_block_latency_cdf,
    theory_fecframe_block_residual,
    theory_fecframe_sizes,
    theory_goodput,
    theory_rest_redundancy,
    theory_rest_spacing,
)
from .errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """A block code without feedback (Karzand et al.): k source packets, then n - k repairs."""

    k: int
    """Source packets of a block."""
    n: int
    """All packets of a block."""
    rate: float
    """Code rate, k/n."""
    residual_loss: float
    """Share of source packets that never arrive."""
    mean_delay_slots: float
    """Mean in-order delay of those that do, in slots."""


def block(loss: str, k: int, n: int) -> Block:
    """The block code of k source packets (1 to 4096), n packets in all."""
    return Block(**json.loads(theory_block(loss, k, n)))


def block_for_residual(loss: str, k: int, residual: float) -> Optional[Block]:
    """The block code of k source packets with the fewest repairs that leaves at most this share of packets unrecovered;
    ``None`` if k + 4096 do not suffice."""
    found = json.loads(theory_block_for_residual(loss, k, residual))
    return None if found is None else Block(**found)


def blocks_for_residual(loss: str, residual: float, longest: int) -> list[Block]:
    """For each code rate the smallest block that leaves at most this share of packets unrecovered, of at most ``longest``
    source packets (1 to 1000)."""
    return [Block(**found) for found in json.loads(theory_blocks_for_residual(loss, residual, longest))]


@dataclass(frozen=True)
class Cell:
    """A cell of stations that always have a frame to send. The defaults are IEEE 802.11b at 11 Mbit/s."""

    stations: int = 1
    """Stations that contend."""
    payload: int = 1500
    """Bytes of the IP packet in each frame."""
    rate_mbit: float = 11.0
    """Rate of the frame's body, Mbit/s."""
    basic_rate_mbit: float = 1.0
    """Rate of acknowledgements, Mbit/s."""
    preamble_us: float = 192.0
    """PLCP preamble and header: 192 us long, 96 us short."""
    mac_overhead: int = 36
    """Bytes of MAC header, frame check sequence and LLC/SNAP around the packet."""
    ack: int = 14
    """Bytes of an acknowledgement."""
    slot_us: float = 20.0
    """Slot time."""
    sifs_us: float = 10.0
    """Short interframe space."""
    difs_us: float = 50.0
    """Distributed interframe space."""
    propagation_us: float = 1.0
    """Propagation."""
    window: int = 32
    """Slots of the first contention window."""
    stages: int = 5
    """Number of times the window doubles."""
    transmissions: Optional[int] = None
    """Most transmissions of a frame; ``None``: until it arrives."""
    fer: float = 0.0
    """Frame error rate of the channel."""


@dataclass(frozen=True)
class Saturation:
    """The throughput of a cell."""

    transmission_probability: float
    """Probability that a station sends in a slot."""
    collision_probability: float
    """Probability that a frame collides."""
    throughput_mbit: float
    """IP packets delivered, all stations together, Mbit/s."""
    success_us: float
    """Microseconds for which a frame that arrives occupies the channel."""
    collision_us: float
    """The same for a collision."""
    dropped: float
    """Share of packets given up after the last transmission."""


def bianchi(cell: Cell) -> Saturation:
    """The throughput of a cell when all stations always have a frame to send (Bianchi)."""
    return Saturation(**json.loads(theory_bianchi(cell)))


def goodput(cell: Cell, code: Rlnc, header: int, ack_packets: float = 1.0) -> float:
    """Payload of a block code in Mbit/s (Garrido et al., equation 6): with ``header`` bytes of headers in each packet, and
    acknowledgements that last as long as ``ack_packets``."""
    return theory_goodput(cell, code, header, ack_packets)


@dataclass(frozen=True)
class FecframeSizes:
    """Sizes of a one-way flow's windows and blocks, in symbols (Roca et al.; RFC 8681, appendix C)."""

    block_size: int
    """k of a block code."""
    block_repairs: int
    """Repair symbols of that block."""
    decoding_window: int
    """dw: symbols in time."""
    encoding_window: int
    """ew, best at dw / 2."""
    linear_system: int
    """ls, about 2 dw: late symbols still help."""
    spacing: Optional[float]
    """Source symbols between two repairs; ``None`` without repair."""
    repairs_after: float
    """Repairs in time that no longer cover a lost symbol."""
    repairs_covering: float
    """Repairs that cover it."""
    rfc8681_encoding_window: int
    """ew by RFC 8681's window size ratio."""


def fecframe_sizes(max_latency: float, bitrate: int, symbol_size: int, code_rate: str) -> FecframeSizes:
    """The sizes for a latency in seconds that coding may add, a rate of source data in bit/s, symbols of so many bytes, and
    a code rate such as ``"2/3"``."""
    return FecframeSizes(**json.loads(theory_fecframe_sizes(max_latency, bitrate, symbol_size, code_rate)))


def fecframe_block_latency(k: int, loss: float) -> float:
    """Mean latency that a block of k symbols adds, in symbols, with independent losses (Roca et al.)."""
    return theory_fecframe_block_latency(k, loss)


def fecframe_block_latency_cdf(k: int, loss: float) -> NDArray[np.float64]:
    """Its distribution: the share of symbols with a latency of at most 0, 1, 2, ... symbols."""
    return theory_fecframe_block_latency_cdf(k, loss)


def fecframe_block_residual(k: int, repairs: int, loss: float) -> float:
    """Share of symbols that a block of k symbols and so many repairs does not recover."""
    return theory_fecframe_block_residual(k, repairs, loss)


def rest_redundancy(per: float) -> float:
    """Repairs for each data packet that a packet error rate requires (Brulatout et al.): 1 / (1 - per) - 1."""
    return theory_rest_redundancy(per)


def rest_spacing(redundancy: float) -> int:
    """Data packets between two repairs for a redundancy."""
    return theory_rest_spacing(redundancy)


__all__ = [
    "Block",
    "Cell",
    "FecframeSizes",
    "ModelError",
    "Rlnc",
    "Saturation",
    "Streaming",
    "bianchi",
    "block",
    "block_for_residual",
    "blocks_for_residual",
    "fecframe_block_latency",
    "fecframe_block_latency_cdf",
    "fecframe_block_residual",
    "fecframe_sizes",
    "goodput",
    "rest_redundancy",
    "rest_spacing",
]
