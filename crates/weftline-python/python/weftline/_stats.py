"""Counters and estimates of a connection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Optional


@dataclass(frozen=True)
class SentStats:
    """What one end sent. Counters only rise."""

    datagrams: int
    """Datagrams of every kind."""
    bytes: int
    """Their bytes, without what the carrier adds."""
    source_symbols: int
    """Source symbols sent for the first time."""
    retransmissions: int
    """Source symbols sent again."""
    repair_symbols: int
    """Repair symbols."""
    top_up_symbols: int
    """Of them, sent because feedback or the retransmission timer asked for them."""
    riding_symbols: int
    """Of the repair symbols, sent in the datagram of a source symbol."""
    feedback: int
    """Feedback datagrams."""
    probes: int
    """Datagrams without a symbol, which ask for feedback or look for the longest datagram."""
    lost_datagrams: int
    """Datagrams that this end took for lost. Feedback is not acknowledged: nobody knows how much of it is lost."""
    spurious_losses: int
    """Of them, those that arrived after all, as far as they are remembered."""
    timeouts: int
    """Times the retransmission timer fired."""
    data: int
    """Bytes of streams and messages put into source symbols."""
    expired_messages: int
    """Messages dropped because their deadline passed before they were sent."""


@dataclass(frozen=True)
class ReceivedStats:
    """What one end received. Counters only rise."""

    datagrams: int
    """Datagrams of every kind that passed all checks."""
    bytes: int
    """Their bytes, without what the carrier adds."""
    source_symbols: int
    """Source symbols that were new."""
    repair_symbols: int
    """Repair symbols of any use or none."""
    useful_repairs: int
    """Repair symbols that raised the decoder's rank."""
    recovered_symbols: int
    """Source symbols recovered by decoding."""
    abandoned_symbols: int
    """Source symbols given up because the sender no longer covers them."""
    feedback: int
    """Feedback datagrams."""
    data: int
    """Bytes of streams and messages handed to the application."""
    late_messages: int
    """Messages that were complete only after their deadline."""
    refused_fragments: int
    """Fragments of messages with a deadline that were dropped for want of room."""


@dataclass(frozen=True)
class DroppedStats:
    """Datagrams that were dropped, by the check that they failed."""

    malformed: int
    """Truncated, oversized or not of a known kind."""
    replayed: int
    """Their transmission number had been seen, or was too old to tell."""
    out_of_window: int
    """Their symbols lie outside what this end can hold."""
    inconsistent: int
    """They contradict what is known."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.malformed + self.replayed + self.out_of_window + self.inconsistent


@dataclass(frozen=True)
class Histogram:
    """How often something took how long."""

    BOUNDS: ClassVar[tuple[float, ...]] = (
        0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
    )  # fmt: skip
    """The upper ends of the ranges, in seconds."""

    counts: tuple[int, ...]
    """How many took at most the first bound, longer but at most the second, and so on; the last of the 14 took longer
    than all bounds."""
    total: float
    """What all of them took together, in seconds."""


@dataclass(frozen=True)
class PathStats:
    """What this end knows of the path on which it sends."""

    rtt: float
    """Smoothed round-trip time, seconds; 0 before it is known."""
    min_rtt: float
    """Smallest round-trip time seen, seconds."""
    loss: float
    """Share of this end's datagrams that were lost recently, 0 to 1."""
    mean_burst: float
    """Mean length of a run of lost datagrams, recently; 0 before the first loss."""
    in_flight: int
    """Bytes sent and neither acknowledged nor known to be lost."""
    unacknowledged: int
    """Source symbols sent and not yet acknowledged."""
    queued: int
    """Bytes accepted from the application and not yet sent."""


@dataclass(frozen=True)
class Stats:
    """A snapshot of a connection's counters and estimates."""

    sent: SentStats
    """What this end sent."""
    received: ReceivedStats
    """What this end received."""
    dropped: DroppedStats
    """Datagrams that were dropped."""
    stalls: Histogram
    """How long at least one symbol was missing: what losses add to the delay of data in order."""
    budget: Optional[float]
    """The repair symbols for each source symbol that the scheme may send before anything is known to be lost."""
    path: PathStats
    """What this end knows of the path."""


@dataclass(frozen=True)
class PathReport:
    """What one end knows of one of several paths. Counters only rise."""

    cost: int
    """The path carries data only while those of lower cost are not enough, or silent."""
    silent: bool
    """Nothing is heard of the path."""
    rtt: float
    """Smoothed round-trip time, seconds."""
    min_rtt: float
    """Smallest round-trip time seen, seconds."""
    round_trips: Histogram
    """How long round trips took, as reports measured them, without the peer's delay."""
    loss: float
    """Share of recent datagrams that were lost, 0 to 1."""
    mean_burst: float
    """Mean length of a run of lost datagrams; 0 before the first loss."""
    rate: Optional[int]
    """Bytes a second that may leave, if the engine controls the rate."""
    queue: float
    """How long datagrams waited in a queue of the path, as its newest report told, seconds."""
    in_flight: int
    """Bytes sent and neither acknowledged nor known to be lost."""
    sent_datagrams: int
    """Datagrams of every kind sent on it."""
    sent_bytes: int
    """Their bytes."""
    arrived_bytes: int
    """Bytes that arrived, as far as reports tell."""
    received_datagrams: int
    """Datagrams received on it."""
    received_bytes: int
    """Their bytes."""
    source_symbols: int
    """Source symbols sent on it for the first time."""
    retransmissions: int
    """Source symbols sent on it that were sent before, on any path."""
    repair_symbols: int
    """Repair symbols sent on it."""
    lost_datagrams: int
    """Datagrams sent on it that were taken for lost."""
    spurious_losses: int
    """Of them, those that arrived after all."""
    recovered_symbols: int
    """Source symbols that were lost on this path, and that the peer has without another transmission."""


def _seconds(duration: dict[str, int]) -> float:
    return duration["secs"] + duration["nanos"] / 1e9


def _with_seconds(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**values, **{name: _seconds(values[name]) for name in names}}


def _histogram(values: dict[str, Any]) -> Histogram:
    return Histogram(counts=tuple(values["counts"]), total=values["total_us"] / 1e6)


def read_stats(text: str) -> Stats:
    """What the native module tells of a connection."""
    values = json.loads(text)
    received = values["received"]
    del received["last_heard"]  # Connection.last_heard tells it in this end's time
    return Stats(
        sent=SentStats(**values["sent"]),
        received=ReceivedStats(**received),
        dropped=DroppedStats(**values["dropped"]),
        stalls=_histogram(values["stalls"]),
        budget=values["budget"],
        path=PathStats(**_with_seconds(values["path"], "rtt", "min_rtt")),
    )


def read_path_report(text: str) -> PathReport:
    """What the native module tells of a path."""
    values = _with_seconds(json.loads(text), "rtt", "min_rtt", "queue")
    values["round_trips"] = _histogram(values["round_trips"])
    return PathReport(**values)
