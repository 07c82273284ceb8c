"""Experiments in virtual time, deterministic and faster than the clock: the same as ``weftline-lab sim``.

:func:`engine` runs the real engine over simulated links. The others are the papers' own models, with a packet in each
slot; they run on several threads, which do not change the result. :class:`Link` is the model of a path.

Losses of slots are ``"0.05"``, ``"5%"`` or ``"markov:SHARE,MEAN_RUN"``. A model's ``code`` is ``"genie"`` (symbols are
counted) or ``"real"`` (coded, decoded and compared). All functions raise :class:`ModelError` for parameters out of
range, and release the interpreter's lock. Those of slots need numpy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, cast

from ._native import (
    Link,
    sim_answered,
    sim_arq,
    sim_block,
    sim_engine,
    sim_rest,
    sim_rlc_block,
    sim_streaming,
    sim_udp_rc,
)
from .errors import ModelError
from .theory import Cell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Code = Literal["genie", "real"]
Answer = Literal["missing", "expected", "known"]


@dataclass(frozen=True)
class Estimate:
    """A mean over independent runs or parts of a run."""

    mean: float
    """The mean."""
    stderr: float
    """Its standard error."""
    spread: float
    """The standard deviation of one value."""


@dataclass(frozen=True)
class DelaySummary:
    """Delays in slots that these shares of packets do not exceed."""

    p50: int
    p95: int
    p99: int
    p999: int
    max: int


@dataclass(frozen=True)
class EnginePath:
    """What one of several paths carried to the reader."""

    wire_bytes: int
    """Bytes offered to the path, headers included."""
    share: float
    """Share of the bytes that arrived, of those of all paths."""
    arrived_mbit: float
    """What arrived over this path, headers included, in Mbit/s of the whole run."""
    windows_mbit: list[float]
    """The same in each whole second."""
    rtt_ms: float
    """Smoothed round trip that the writer knows at the end, ms."""
    recovered: int
    """Source symbols that were lost on this path and that the reader has without another transmission."""
    loss_rate: float
    """Share of packets that the path lost, without queue drops."""
    queue_drops: int
    """Packets dropped by a full queue, or while the path was down."""
    queue_ms: list[float]
    """Median and 99th percentile of the wait for the transmitter, ms."""


@dataclass(frozen=True)
class Engine:
    """What came of an experiment with the engine. A delay is the time from when a message was due until it was read in
    order; ``None`` where nothing was measured."""

    sent: int
    """Messages that were due."""
    got: int
    """Messages that were read, in order."""
    mean: Optional[float]
    """Mean delay, ms."""
    p50: Optional[float]
    """Delay in ms that half of the messages do not exceed; the others are the same for 95, 99 and 99.9 %."""
    p95: Optional[float]
    p99: Optional[float]
    p999: Optional[float]
    max: Optional[float]
    """Longest delay, ms."""
    on_time: Optional[float]
    """Share of messages that were read ``within`` the time."""
    bytes: int
    """Bytes that the reader's application read after ``skip``."""
    goodput_mbit: float
    """The same as a rate, in Mbit/s of the measured time."""
    capacity_share: Optional[float]
    """The same as a share of what the forward link could carry, if it has a rate."""
    completion_s: Optional[float]
    """Seconds until the whole file had been read, for files."""
    wire_per_byte: float
    """Bytes offered to the forward link, headers included, for each byte read."""
    back_per_byte: float
    """The same on the return link."""
    repair_share: float
    """Repair symbols for each source symbol."""
    effective_rate: float
    """Source symbols for all symbols sent for them."""
    loss_rate: float
    """Share of packets that the forward link lost, without queue drops."""
    queue_drops: int
    """Packets dropped by a full queue."""
    queue_ms: list[float]
    """Median and 99th percentile of the wait for the transmitter, ms."""
    queue_p95_ms: float
    """The 95th percentile of it."""
    simulated_s: float
    """Seconds of virtual time."""
    paths: list[EnginePath]
    """The paths, if there are several."""
    cdf: Optional[list[tuple[float, float]]]
    """Shares, and the delay in ms that this share of messages does not exceed, with ``distribution``."""


def engine(
    settings: Sequence[str] = (),
    *,
    link: str = "rate=25mbit delay=30ms queue=60ms loss=iid:5%",
    back: Optional[str] = None,
    more_paths: Sequence[tuple[str, Optional[str]]] = (),
    app: str = "cbr:10mbit,1200",
    duration: float = 30.0,
    skip: float = 1.0,
    within: Optional[float] = None,
    overhead: int = 64,
    distribution: bool = False,
    seed: int = 1,
) -> Engine:
    """Run the real engine over simulated links.

    :param settings: of both ends, such as ``["preset=streaming", "l=5"]``; schemes for comparison are ``ac-rlnc``,
        ``flec-bulk``, ``flec-message`` and ``uncoded``.
    :param link: the link there. Texts of links are those of ``weftline-lab run``, and names such as ``"wifi"``.
    :param back: the link back; without it the same rate, delay, queue, outages and MTU, without loss.
    :param more_paths: further paths of the session, pairs of links as these two.
    :param app: the traffic: ``cbr:RATE,SIZE``, ``video:RATE,SIZE``, ``bulk``, ``bulk:SIZE`` or ``file:SIZE``.
    :param duration: seconds of traffic.
    :param skip: messages that are due in the first seconds are not counted.
    :param within: seconds after which a message is late.
    :param overhead: bytes that IP, UDP and the carrier add to each datagram: 64 is QUIC over IPv4, 36 plain UDP.
    :param distribution: tell the distribution of delays.
    :param seed: of the losses.
    """
    paths = [(link, back), *more_paths]
    told = json.loads(
        sim_engine(list(settings), paths, app, duration, skip, within, overhead, distribution, seed)
    )
    told["paths"] = [EnginePath(**path) for path in told.get("paths", [])]
    cdf = told.get("cdf")
    told["cdf"] = None if cdf is None else [(share, delay) for share, delay in cdf]
    return Engine(**told)


@dataclass(frozen=True)
class Streaming:
    """What came of the streaming code in slots."""

    slots: int
    """Slots that were run."""
    packets: int
    """Information packets."""
    mean_delay_slots: float
    """Mean in-order delay of information packets."""
    stderr: float
    """Its standard error."""
    undelayed: float
    """Share of packets that were not delayed."""
    delay_slots: DelaySummary
    """In-order delays."""
    mean_busy: float
    """E S: intervals in which delivery stalls."""
    second_moment_busy: float
    """E S^2."""
    third_moment_busy: float
    """E S^3."""
    mean_busy_plus: float
    """E S+."""
    periods: int
    """Busy periods, those of length 0 included."""
    delay_percentiles: NDArray[np.uint64]
    """The smallest delay, those that 1 % to 99 % of packets do not exceed, and the longest, in slots: 101 values."""
    busy_time: NDArray[np.float64]
    """P(S = s) for s from 0 to at most 1000."""


def streaming(
    loss: str,
    spacing: int,
    *,
    slots: int = 20_000_000,
    code: Code = "genie",
    rtt: int = 0,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Streaming:
    """The streaming code (Karzand et al.): ``spacing`` - 1 information packets, then one coded packet. With the real code
    the sender stops covering packets ``rtt`` slots after their delivery."""
    outcome, percentiles, busy = sim_streaming(loss, spacing, slots, code, rtt, seed, threads)
    values = _delivered(outcome)
    return Streaming(**values, delay_percentiles=percentiles, busy_time=busy)


@dataclass(frozen=True)
class Arq:
    """What came of retransmissions in slots."""

    slots: int
    """Slots that were run."""
    packets: int
    """Packets delivered."""
    throughput: float
    """New packets for each slot."""
    mean_delay_slots: float
    """Mean in-order delay from the first sending."""
    stderr: float
    """Its standard error."""
    undelayed: float
    """Share of packets that were not delayed."""
    delay_slots: DelaySummary
    """In-order delays."""
    histogram: list[Estimate]
    """The share of packets in each bin of delays, with ``bin``."""
    delay_percentiles: NDArray[np.uint64]
    """The smallest delay, those that 1 % to 99 % of packets do not exceed, and the longest, in slots: 101 values."""


@dataclass(frozen=True)
class Answered(Arq):
    """What came of the streaming code with feedback in slots."""

    extra: float
    """Coded packets in answer to feedback for each information packet."""
    effective_rate: float
    """Information packets for all packets sent."""


@dataclass(frozen=True)
class Block(Arq):
    """What came of a block code in slots."""

    residual_loss: float
    """Share of source packets that never arrived."""
    extra: float
    """Packets sent in answer to feedback for each complete block."""
    effective_rate: float
    """Source packets for all packets sent for them."""


def arq(
    loss: str,
    rtt: int,
    *,
    slots: int = 20_000_000,
    bin: Optional[float] = None,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Arq:
    """Selective-repeat ARQ: a packet is sent again ``rtt`` slots after it was sent, if it was lost. ``bin`` is the width of
    the histogram's bins in slots."""
    outcome, percentiles = sim_arq(loss, rtt, slots, bin, seed, threads)
    return Arq(**_delivered(outcome, histogram=True), delay_percentiles=percentiles)


def answered(
    loss: str,
    share: float,
    rtt: int,
    *,
    answer: Answer = "expected",
    slots: int = 20_000_000,
    bin: Optional[float] = None,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Answered:
    """The streaming code with ``share`` coded packets for each information packet, and further ones for what is missing
    ``rtt`` slots later."""
    outcome, percentiles = sim_answered(loss, share, rtt, answer, slots, bin, seed, threads)
    return Answered(**_delivered(outcome, histogram=True), delay_percentiles=percentiles)


def block(
    loss: str,
    k: int,
    repairs: float,
    *,
    rtt: Optional[int] = None,
    answer: Answer = "missing",
    slots: int = 20_000_000,
    bin: Optional[float] = None,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Block:
    """A block code: k source packets, then ``repairs`` combinations of them (fractions are carried from block to block).
    With ``rtt``, what is still missing is repaired so many slots later; without it, it is given up."""
    outcome, percentiles = sim_block(loss, k, repairs, rtt, answer, slots, bin, seed, threads)
    return Block(**_delivered(outcome, histogram=True), delay_percentiles=percentiles)


@dataclass(frozen=True)
class Rest:
    """What came of REST; the spread is that of one run."""

    runs: int
    """Number of streams."""
    duration_s: Estimate
    """Seconds from the first packet until the receiver has everything."""
    mean_delay_s: Estimate
    """Mean delay of a stream's packets."""
    std_delay_s: Estimate
    """Standard deviation of a stream's delays."""
    overhead: Estimate
    """Repairs that arrive and are of no use, and acknowledgements, of all packets sent in both directions."""
    inline_overhead: Estimate
    """The same without the repairs after the last data packet."""
    useless_share: Estimate
    """Repairs that arrive and are of no use, of all packets that the sender sends."""
    useless_inline_share: Estimate
    """The same without repairs after the last data packet."""
    acknowledgements: Estimate
    """Acknowledgements of a stream."""
    repairs: Estimate
    """Repairs sent for each data packet."""
    inline_repairs: Estimate
    """Repairs sent for each data packet before the last one."""
    estimated_loss: Estimate
    """The receiver's estimate of the packet error rate at the end."""
    decodings: Estimate
    """Decodings of a stream."""
    mean_matrix: Estimate
    """Packets that a decoding gives."""
    std_matrix: Estimate
    """Standard deviation of the same."""
    largest_matrix: Estimate
    """The largest of a stream."""
    largest_share: Estimate
    """Its share of all packets that a stream's decodings give."""
    largest_system: Estimate
    """Most sent packets missing at a time."""


def rest(
    loss: str = "iid:0.15",
    redundancy: Optional[float] = None,
    *,
    packets: int = 2331,
    packet: float = 0.008,
    rtt: float = 0.3,
    ack: float = 0.2,
    window: Optional[int] = None,
    code: Code = "genie",
    alpha: float = 0.8,
    estimate: float = 3.0,
    runs: int = 400,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Rest:
    """REST (Brulatout et al.): ``redundancy`` repairs for each data packet, or as many as the receiver's estimate requires
    without it, and repairs at the end. ``packet``, ``rtt``, ``ack`` and ``estimate`` are in seconds: of a packet, of a
    round trip, between acknowledgements, and of the window in which losses are measured."""
    told = sim_rest(
        loss, redundancy, packets, packet, rtt, ack, window, code, alpha, estimate, runs, seed, threads
    )
    return Rest(**_estimates(told))


@dataclass(frozen=True)
class UdpRc:
    """What came of UDP-RC."""

    trials: int
    """Number of messages."""
    decode_probability: float
    """Share of messages decoded from k + ``extra`` received symbols."""
    decode_probability_stderr: float
    """Its standard error."""
    decode_probability_by_excess: list[float]
    """The same for k + 0 to k + ``extra``."""
    excess: Estimate
    """Symbols received beyond k until the message was decoded."""
    sent: Estimate
    """Symbols sent until then."""
    transfer_s: Estimate
    """Seconds from the first packet until the receiver has the message."""
    transfer_p99_s: float
    """The 99th percentile of these times."""


def udp_rc(
    loss: str,
    k: int,
    *,
    q: int = 1,
    code: Code = "genie",
    extra: int = 10,
    pace: float = 0.5,
    packet: float = 8 * 1448 / 100e6,
    rtt: float = 0.0,
    trials: int = 100_000,
    seed: int = 1,
    threads: Optional[int] = None,
) -> UdpRc:
    """UDP-RC (Chong et al.): k symbols, then combinations of them in GF(2^q), the first k + ``extra`` at full rate and the
    others at the share ``pace`` of it. ``packet`` and ``rtt`` are in seconds: of a packet at full rate, and of a round
    trip."""
    return UdpRc(**_estimates(sim_udp_rc(loss, k, q, code, extra, pace, packet, rtt, trials, seed, threads)))


@dataclass(frozen=True)
class RlcBlock:
    """What came of low-overhead block RLC over 802.11b."""

    blocks: int
    """Number of blocks."""
    throughput_mbit: float
    """Payload delivered, Mbit/s."""
    stderr: float
    """Its standard error."""
    limit_mbit: float
    """Rate of whole IP packets that the cell carries, Mbit/s."""
    latency_ms: Estimate
    """Milliseconds from one decoded block to the next."""
    transmissions: Estimate
    """Packets sent for each block."""
    receptions: Estimate
    """Packets received until a block is decoded."""
    ack_share: float
    """Share of the time in which acknowledgements are sent."""
    ack_share_stderr: float
    """Its standard error."""
    header_bytes: int
    """Bytes of headers in a packet."""
    block_bytes: int
    """Bytes of payload in a block."""


def rlc_block(
    cell: Optional[Cell] = None,
    *,
    ack_fer: Optional[float] = None,
    k: int = 64,
    q: int = 8,
    code: Code = "genie",
    header: Literal["seed", "vector"] = "seed",
    other_headers: int = 28,
    ack_bytes: int = 41,
    blocks: int = 2000,
    seed: int = 1,
    threads: Optional[int] = None,
) -> RlcBlock:
    """Low-overhead block RLC (Garrido et al.): combinations of a block of k packets in GF(2^q) until its acknowledgement is
    back, over the cell. ``ack_fer`` is the frame error rate of acknowledgements, that of packets if not given."""
    told = sim_rlc_block(
        cell or Cell(), ack_fer, k, q, code, header, other_headers, ack_bytes, blocks, seed, threads
    )
    return RlcBlock(**_estimates(told))


def _delivered(text: str, histogram: bool = False) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    values["delay_slots"] = DelaySummary(**values["delay_slots"])
    if histogram:
        values["histogram"] = [Estimate(**share) for share in values.get("histogram", [])]
    return values


def _estimates(text: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    for key, value in values.items():
        if isinstance(value, dict):
            values[key] = Estimate(**cast("dict[str, float]", value))
    return values


__all__ = [
    "Answered",
    "Arq",
    "Block",
    "Cell",
    "DelaySummary",
    "Engine",
    "EnginePath",
    "Estimate",
    "Link",
    "ModelError",
    "Rest",
    "RlcBlock",
    "Streaming",
    "UdpRc",
    "answered",
    "arq",
    "block",
    "engine",
    "rest",
    "rlc_block",
    "streaming",
    "udp_rc",
]
