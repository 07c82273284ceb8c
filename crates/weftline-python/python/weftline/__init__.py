"""Reliable, in-order, low-delay streams and messages over lossy networks, for asyncio.

:class:`Endpoint` is a UDP port that connects to peers and accepts them, encrypted. :class:`Connection` carries
streams (:class:`StreamReader`, :class:`StreamWriter`) and messages, which may have a deadline.

All times are in seconds and all sizes in bytes, unless a name says otherwise. Addresses are texts with a port, such as
``"192.0.2.1:4433"`` or ``"[2001:db8::1]:4433"``.

Cancelling is safe everywhere: a call that was cancelled has taken, sent and lost nothing.
"""

from __future__ import annotations

from ._config import Config, Congestion
from ._connection import (
    Connection,
    PathChange,
    PathEvent,
    PathInfo,
    Receipt,
)
from ._endpoint import Endpoint, InsecureEndpoint, Refusal, RefusalKind
from ._monitor import ConnectionInfo, Overview, Packets, Totals
from ._native import Allowed, EventLogs, Fingerprint, Identity, Message, Monitor
from ._stats import DroppedStats, Histogram, PathReport, PathStats, ReceivedStats, SentStats, Stats
from ._streams import StreamReader, StreamWriter
from .errors import (
    BindError,
    CloseReason,
    CodecError,
    ConfigError,
    ConnectError,
    ConnectionClosed,
    ConnectTimeoutError,
    DeliveryError,
    EndpointClosed,
    FingerprintError,
    IdentityError,
    KeyingMaterialError,
    MessageExpired,
    MessageTooLong,
    ModelError,
    NoRoomError,
    PairingError,
    PathError,
    PeerBusy,
    PeerMismatch,
    PeerRefused,
    SendError,
    StreamClosed,
    StreamError,
    StreamReset,
    StreamStopped,
    WeftlineError,
)

__all__ = [
    "Allowed",
    "BindError",
    "CloseReason",
    "CodecError",
    "Config",
    "ConfigError",
    "Congestion",
    "ConnectError",
    "ConnectTimeoutError",
    "Connection",
    "ConnectionClosed",
    "ConnectionInfo",
    "DeliveryError",
    "DroppedStats",
    "Endpoint",
    "EndpointClosed",
    "EventLogs",
    "Fingerprint",
    "FingerprintError",
    "Histogram",
    "Identity",
    "IdentityError",
    "InsecureEndpoint",
    "KeyingMaterialError",
    "Message",
    "MessageExpired",
    "MessageTooLong",
    "ModelError",
    "Monitor",
    "NoRoomError",
    "Overview",
    "Packets",
    "PairingError",
    "PathChange",
    "PathError",
    "PathEvent",
    "PathInfo",
    "PathReport",
    "PathStats",
    "PeerBusy",
    "PeerMismatch",
    "PeerRefused",
    "Receipt",
    "ReceivedStats",
    "Refusal",
    "RefusalKind",
    "SendError",
    "SentStats",
    "Stats",
    "StreamClosed",
    "StreamError",
    "StreamReader",
    "StreamReset",
    "StreamStopped",
    "StreamWriter",
    "Totals",
    "WeftlineError",
]
