"""What the connections of endpoints do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ._connection import PathInfo, RawPath, read_paths
from ._native import Fingerprint
from ._stats import DroppedStats, Histogram, ReceivedStats, SentStats, Stats, read_stats


@dataclass(frozen=True)
class Packets:
    """UDP packets of connections, with everything that the carrier adds: over QUIC the handshake, its acknowledgements
    and probes. Packets outside of a connection are not counted."""

    sent: int
    """Packets sent."""
    sent_bytes: int
    """Bytes sent, UDP's payload."""
    received: int
    """Packets received."""
    received_bytes: int
    """Bytes received, UDP's payload."""


@dataclass(frozen=True)
class ConnectionInfo:
    """A connection as a :class:`Monitor` sees it."""

    number: int
    """Its number among all of this monitor, from 0."""
    is_accepted: bool
    """The peer has opened it."""
    peer: Optional[Fingerprint]
    """The peer's fingerprint; ``None`` on plain UDP."""
    remote_address: str
    """The peer's address."""
    application_protocol: Optional[str]
    """The application protocol that both ends agreed on, if they name any."""
    age: float
    """Seconds since it began."""
    stats: Stats
    """Counters and estimates."""
    paths: list[PathInfo]
    """Its paths."""
    packets: Packets
    """UDP packets of its carriers."""
    held: int
    """Bytes that this end holds for its peer now: data that was not read, sent or acknowledged, and what decoding
    needs."""


@dataclass(frozen=True)
class Totals:
    """Counters of connections together."""

    sent: SentStats
    """What this end sent."""
    received: ReceivedStats
    """What this end received."""
    dropped: DroppedStats
    """Datagrams that were dropped."""
    stalls: Histogram
    """How long at least one symbol was missing."""
    packets: Packets
    """Their UDP packets."""


@dataclass(frozen=True)
class Overview:
    """What a :class:`Monitor` sees at one moment."""

    connections: int
    """Connections so far, those that are over included."""
    open: list[ConnectionInfo]
    """Those that are open, the oldest first."""
    totals: Totals
    """All connections so far together, those that are over included: these counters only rise."""


_Packets = tuple[int, int, int, int]
_Open = tuple[
    int, bool, Optional[Fingerprint], str, Optional[str], float, str, list[RawPath], _Packets, int
]


def read_overview(connections: int, opened: list[_Open], totals: tuple[str, _Packets]) -> Overview:
    """What the native module tells of connections."""
    stats, packets = read_stats(totals[0]), Packets(*totals[1])
    return Overview(
        connections,
        [_connection(one) for one in opened],
        Totals(stats.sent, stats.received, stats.dropped, stats.stalls, packets),
    )


def _connection(told: _Open) -> ConnectionInfo:
    number, is_accepted, peer, remote, protocol, age, stats, paths, packets, held = told
    return ConnectionInfo(
        number,
        is_accepted,
        peer,
        remote,
        protocol,
        age,
        read_stats(stats),
        read_paths(paths),
        Packets(*packets),
        held,
    )
