"""What an endpoint is configured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Optional

from ._native import EventLogs, Monitor

Congestion = Literal["engine", "cubic", "bbr", "new-reno"]


@dataclass(frozen=True)
class Config:
    """Configuration of an endpoint. What contradicts itself is refused when an endpoint is bound.

    The two ends need not agree on anything but ``application_protocols`` and ``early_data``.
    """

    scheme: str = "auto"
    """How this end repairs losses: a preset and its options, as text. ``"auto"`` sends a repair when it is worth its
    price; ``"auto,delay=20,share=0.3"`` aims at 20 ms of delay beyond the path's own, with at most 0.3 repairs for
    each symbol; ``"arq"`` sends lost symbols again. The reference page on presets lists all of them."""
    congestion: Optional[Congestion] = None
    """What decides how fast a connection sends, in place of the engine's own rate control."""
    connect_timeout: float = 10.0
    """Seconds that connecting may take, from the first packet to the peer's answer."""
    idle_timeout: Optional[float] = None
    """A connection is lost when nothing arrives for this many seconds. ``None``: what the scheme's text says, or 30."""
    keep_alive: Optional[float] = None
    """A probe is sent when nothing was sent for this many seconds; 0 lets an idle connection time out. ``None``: what
    the scheme's text says, or 10."""
    message_size: Optional[int] = None
    """Bytes of the longest message that this end accepts, 16384 at least. ``None``: 1 MiB."""
    deliver_late_messages: bool = False
    """Deliver messages even if their deadline has passed."""
    segmentation_offload: bool = True
    """Let the system cut large buffers into packets. Switch it off on emulated paths."""
    socket_buffer: int = 4 << 20
    """Bytes asked of the system for the socket's send and receive buffers, each."""
    socket_mark: Optional[int] = None
    """A mark on all packets (Linux, ``SO_MARK``; it needs CAP_NET_ADMIN)."""
    max_sessions: int = 1024
    """Connections of peers served at once; further ones are turned away."""
    application_protocols: Sequence[str] = ()
    """Names of the application's protocols, the preferred one first. The two ends agree on one in the handshake."""
    early_data: bool = False
    """Let a peer that was connected to before send data in its first packets, a round trip earlier; both ends must set
    it. Such data is protected less: a recording of it may be accepted in place of the original."""
    paths: Sequence[str] = ()
    """The paths of each connection that this endpoint makes, such as ``"wlan0"`` or ``"wwan0,cost=1"``."""
    all_interfaces: bool = False
    """Besides, a path through each network interface that has a default route (Linux)."""
    event_logs: Optional[EventLogs] = None
    """Writes the event log of each connection to a file of its own."""
    monitor: Optional[Monitor] = None
    """Looks at the connections of all endpoints that have it."""
