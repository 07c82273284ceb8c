"""Experiments in virtual time, deterministic and faster than the clock: the same as ``weftline-lab sim``.

:func:`engine` runs the real engine over simulated links, and :func:`crowd` several flows of it over one bottleneck. The
others are the papers' own models, with a packet in each slot; they run on several threads, which do not change the
result. :class:`Link` is the model of a path.

Losses of slots are ``"0.05"``, ``"5%"`` or ``"markov:SHARE,MEAN_RUN"``. A model's ``code`` is ``"genie"`` (symbols are
counted) or ``"real"`` (coded, decoded and compared). All functions raise :class:`ModelError` for parameters out of
range, and release the interpreter's lock. Those of slots need numpy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, cast

from ._native import (
    Link,
    sim_answered,
    sim_arq,
    sim_block,
    sim_crowd,
    sim_engine,
    sim_fecframe,
    sim_fecframe_recommend,
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
class Delays:
    """Delays of messages in ms; ``None`` where nothing was measured."""

    mean: Optional[float]
    """The mean."""
    p50: Optional[float]
    """What half of the messages do not exceed; the others are the same for 95, 99 and 99.9 %."""
    p95: Optional[float]
    p99: Optional[float]
    p999: Optional[float]
    max: Optional[float]
    """The longest."""


@dataclass(frozen=True)
class CrowdFlow:
    """What came of a flow of a crowd."""

    sender: Literal["weftline", "model of CUBIC", "model of BBR"]
    """What sent."""
    join_s: float
    """When it joined, seconds."""
    leave_s: Optional[float]
    """When it left, seconds."""
    rtt_ms: float
    """The round trip without a queue, ms."""
    goodput_mbit: float
    """Mbit/s read in the seconds in which it was there throughout, after ``skip``."""
    last_mbit: float
    """Mbit/s read in the time that :attr:`Crowd.jain` is about."""
    delay: Optional[Delays]
    """Delays of messages, for an application with messages."""
    windows_mbit: list[float]
    """Mbit/s read in each second."""


@dataclass(frozen=True)
class Crowd:
    """What came of a crowd. Flows with a rate of their own (``cbr``, ``file``) are not part of Jain's indices."""

    jain: float
    """Jain's index (1: all have the same) of the flows that are there to the end, over the second half of the time after
    the last of them joined or left."""
    fair_after_s: Optional[float]
    """Seconds after the last join or leave from which on the index is at least 0.95 in each second; ``None`` if it is
    not in the last."""
    worst_jain: Optional[float]
    """The lowest index of a second that begins 10 s after the last join or leave, or later."""
    jain_windows: list[float]
    """The index in each second, of the flows that are there throughout."""
    queue_ms: list[float]
    """Median, 95th percentile and maximum of the wait at the bottleneck after ``skip``, ms."""
    utilisation: Optional[float]
    """Bytes that the bottleneck carried, headers included, as a share of its rate; ``None`` without one."""
    queue_drops: int
    """Packets that the bottleneck's queue dropped."""
    queue_drop_share: float
    """The same as a share of all packets."""
    goodput_mbit: float
    """Goodput of all flows together, Mbit/s."""
    flows: list[CrowdFlow]
    """The flows: models of CUBIC, models of BBR, those of ``also``, then those that join one after the other."""


def crowd(
    settings: Sequence[str] = (),
    *,
    link: str = "rate=25mbit delay=30ms queue=200ms",
    back: Optional[str] = None,
    flows: int = 8,
    app: str = "bulk",
    also: Sequence[str] = (),
    spread: float = 0.0,
    paths: int = 1,
    join: float = 0.1,
    after: float = 0.0,
    leave: Optional[float] = None,
    cubic: int = 0,
    bbr: int = 0,
    duration: float = 30.0,
    skip: float = 1.0,
    overhead: int = 64,
    seed: int = 1,
) -> Crowd:
    """Run several flows of the real engine over one bottleneck, beside models of TCP.

    :param settings: of both ends of all flows, as for :func:`engine`.
    :param link: the shared link there, with its queue.
    :param back: the shared link back; without it the same rate, delay, queue, outages and MTU, without loss.
    :param flows: flows of the engine that join one after the other, 256 at most.
    :param app: their traffic, as for :func:`engine`.
    :param also: traffic of further flows of the engine, which are there from the start.
    :param spread: seconds by which the last flow's round trip is longer than the first one's.
    :param paths: paths of the first flow, all of them through the bottleneck, 8 at most.
    :param join: flow n joins at a random time of the n-th interval of this many seconds.
    :param after: seconds before the first of these intervals: a head start for what is beside the flows.
    :param leave: every second flow leaves at this time, in seconds, without a word.
    :param cubic: models of TCP CUBIC, 256 at most. They get ideal acknowledgements and send nothing again.
    :param bbr: models of TCP BBR, first version, 256 at most.
    :param duration: seconds of the run.
    :param skip: the first seconds are excluded from goodputs and the queue.
    :param overhead: bytes that IP, UDP and the carrier add to each datagram.
    :param seed: of all random choices.
    """
    told = json.loads(
        sim_crowd(
            list(settings), link, back, flows, app, list(also), spread, paths, join, after, leave, cubic, bbr,
            duration, skip, overhead, seed,
        )
    )  # fmt: skip
    told["flows"] = [_crowd_flow(flow) for flow in told["flows"]]
    return Crowd(**told)


def _crowd_flow(told: dict[str, Any]) -> CrowdFlow:
    delay = told.pop("delay", None)
    return CrowdFlow(**told, delay=None if delay is None else Delays(**delay))


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


@dataclass(frozen=True)
class FecframeWindow:
    """Random linear codes over a sliding window (RFC 8681)."""

    ew: Optional[int] = None
    """Symbols that a repair covers. ``None``: half of ``dw``."""
    ls: Optional[int] = None
    """Newest symbols, which equations may contain. ``None``: 2 ``dw``, at least 40."""
    field_bits: Literal[1, 8] = 8
    """Coefficients are in GF(2) or in GF(2^8)."""
    density: Optional[int] = None
    """Density threshold DT, 0 to 15: (DT + 1) / 16 of a window are covered. ``None``: 15, over GF(2) 7."""
    discarding: bool = False
    """The decoder drops received equations when a symbol that they contain leaves the linear system, as in the paper."""


@dataclass(frozen=True)
class FecframeBlock:
    """Reed-Solomon codes in blocks (RFC 6865)."""

    k: int = 167
    """Source symbols of a block; with its repair symbols 255 at most."""
    ideal: bool = False
    """Any ``k`` packets of a block decode it: a count of losses, without a codec."""


@dataclass(frozen=True)
class FecframeSession:
    """What came of one run."""

    seed: int
    """Seed of its losses."""
    on_time: float
    """Share of symbols received or decoded within ``dw`` ticks."""
    received: float
    """Share of source symbols that the path did not lose."""
    latency: float
    """Mean added in-order latency of symbols on time, in ticks."""
    mean_recovered_after: Optional[float]
    """Mean ticks until symbols that were lost became known; ``None`` if none did."""
    encode_mbit: float
    """As :attr:`Fecframe.encode_mbit`."""
    decode_mbit: float
    """As :attr:`Fecframe.decode_mbit`."""
    histogram: NDArray[np.uint64]
    """As :attr:`Fecframe.histogram`."""
    recovered_after: NDArray[np.uint64]
    """As :attr:`Fecframe.recovered_after`."""


@dataclass(frozen=True)
class Fecframe:
    """What came of a code for one-way flows, all runs together. Each source symbol takes a tick."""

    code: str
    """The code and its sizes."""
    code_rate: str
    """Source symbols as a share of all symbols."""
    decoding_window: int
    """``dw``: ticks within which a symbol must be known."""
    loss: str
    """The loss model."""
    symbols: int
    """Source symbols of each run that are counted."""
    symbol_size: int
    """Bytes of a symbol."""
    runs: int
    """Number of runs."""
    on_time: float
    """Share of symbols received or decoded within ``dw`` ticks."""
    on_time_stderr: float
    """Its standard error."""
    residual_loss: float
    """Share of symbols that the application does not get."""
    late: float
    """Share of symbols decoded later than ``dw`` ticks."""
    lost: float
    """Share of source symbols lost on the path."""
    latency: float
    """Mean added in-order latency of symbols on time, in ticks."""
    latency_stderr: float
    """Its standard error."""
    latency_quantiles: list[int]
    """Smallest, median, 90 %, 99 %, 99.9 % and largest added latency, in ticks."""
    repair_share: float
    """Repair symbols sent for each source symbol."""
    encode_mbit: float
    """How fast the sender makes repairs: source bits for each second of processor time, in Mbit/s. This value and
    ``decode_mbit`` depend on the machine and differ from run to run."""
    decode_mbit: float
    """How fast the receiver decodes: source bits for each second of its processor time, in Mbit/s."""
    histogram: NDArray[np.uint64]
    """Symbols by added latency in ticks, from 0."""
    recovered_after: NDArray[np.uint64]
    """Symbols that were lost and became known, late ones too, by ticks from their sending."""
    sessions: list[FecframeSession]
    """The runs, one for each seed."""


def fecframe(
    code: Optional[Union[FecframeWindow, FecframeBlock]] = None,
    *,
    loss: str = "iid:30%",
    code_rate: str = "2/3",
    dw: Optional[int] = None,
    symbols: int = 100_000,
    symbol_size: int = 256,
    runs: int = 2,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Fecframe:
    """A code for one-way flows (Roca et al.), with real senders and receivers; every delivered byte is compared with the
    sent one.

    :param code: ``FecframeWindow()`` unless it is said.
    :param loss: losses as in links: ``"iid:5%"``, ``"ge:10%,4"`` (in bursts of 4).
    :param code_rate: source symbols as a share of all symbols: ``"2/3"`` or ``"0.9"``.
    :param dw: symbols within which a symbol must be known. ``None``: 167, or the ``k`` of blocks.
    :param symbols: source symbols of each run that are counted.
    :param symbol_size: bytes of a symbol.
    :param runs: number of runs, 1000 at most, each with the next seed.
    :param seed: of losses and data.
    """
    told, counts, of_sessions = sim_fecframe(
        FecframeWindow() if code is None else code, loss, code_rate, dw, symbols, symbol_size, runs, seed, threads
    )
    values: dict[str, Any] = json.loads(told)
    for name in ("on_time", "latency"):
        estimate = values[name]
        values[name], values[f"{name}_stderr"] = estimate["mean"], estimate["stderr"]
    sessions: list[dict[str, Any]] = values["sessions"]
    for each, (histogram, recovered_after) in zip([values, *sessions], [counts, *of_sessions]):
        each.update(each.pop("speed"), histogram=histogram, recovered_after=recovered_after)
    values["sessions"] = [FecframeSession(**session) for session in sessions]
    return Fecframe(**values)


@dataclass(frozen=True)
class FecframeLeft:
    """What a setting leaves lost."""

    residual_loss: float
    """Share of symbols not known within ``dw`` ticks."""
    stderr: float
    """Its standard error."""
    latency: float
    """Mean added in-order latency, in ticks."""


@dataclass(frozen=True)
class FecframeTried:
    """A window that was tried."""

    encoding_window: int
    """ew: symbols that a repair covers."""
    left: FecframeLeft
    """What it leaves lost."""


@dataclass(frozen=True)
class FecframeRecommendation:
    """The cheapest setting, over GF(2^8) and dense, and others at the same code rate."""

    decoding_window: int
    """dw: the latency in symbols."""
    enough: bool
    """Whether it leaves no more than ``residual``; if not, it is the best setting of the lowest code rate."""
    code_rate: str
    """Source symbols as a share of all symbols."""
    encoding_window: int
    """ew: the best one tried."""
    left: FecframeLeft
    """What it leaves lost."""
    windows: list[FecframeTried]
    """All windows tried at this code rate, the shortest first."""
    usual: FecframeLeft
    """``weftline cast`` by default: code rate 2/3, ew = dw / 2."""
    binary: FecframeLeft
    """The recommended setting over GF(2), half dense."""
    sparsest: Optional[int]
    """The lowest of the density thresholds 1, 3 and 7 that is enough."""
    block: Optional[FecframeLeft]
    """Reed-Solomon in blocks of three quarters of dw, if such blocks exist."""


def fecframe_recommend(
    max_latency: float,
    bitrate: int,
    loss: str,
    *,
    residual: float = 0.001,
    symbol_size: int = 1400,
    symbols: int = 200_000,
    seed: int = 1,
) -> FecframeRecommendation:
    """The code rate and the window of ``weftline cast`` for a latency in seconds that coding may add, a rate of source data
    in bit/s and a loss, by simulation: the highest of the code rates 19/20 to 1/2 that leaves at most the share
    ``residual`` of datagrams lost. ``symbol_size`` is a datagram's length plus 3."""
    values: dict[str, Any] = json.loads(
        sim_fecframe_recommend(max_latency, bitrate, loss, residual, symbol_size, symbols, seed)
    )
    for name in ("left", "usual", "binary", "block"):
        if values[name] is not None:
            values[name] = FecframeLeft(**values[name])
    values["windows"] = [
        FecframeTried(tried["encoding_window"], FecframeLeft(**tried["left"])) for tried in values["windows"]
    ]
    return FecframeRecommendation(**values)


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
    "Crowd",
    "CrowdFlow",
    "DelaySummary",
    "Delays",
    "Engine",
    "EnginePath",
    "Estimate",
    "Fecframe",
    "FecframeBlock",
    "FecframeLeft",
    "FecframeRecommendation",
    "FecframeSession",
    "FecframeTried",
    "FecframeWindow",
    "Link",
    "ModelError",
    "Rest",
    "RlcBlock",
    "Streaming",
    "UdpRc",
    "answered",
    "arq",
    "block",
    "crowd",
    "engine",
    "fecframe",
    "fecframe_recommend",
    "rest",
    "rlc_block",
    "streaming",
    "udp_rc",
]
