"""The exceptions of this package. All of them derive from :class:`WeftlineError`.

The texts name what was expected, what arrived, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CloseKind = Literal["local", "peer", "timed-out", "violation", "carrier", "refused"]
PairingKind = Literal["wrong-code", "impostor", "no-code", "silent", "protocol"]


class WeftlineError(Exception):
    """Base of all errors of this package."""


class ConfigError(WeftlineError, ValueError):
    """A part of the configuration is out of its range, or contradicts another."""


class FingerprintError(WeftlineError, ValueError):
    """A text is not a fingerprint."""


class IdentityError(WeftlineError):
    """A key pair cannot be read or made."""


class BindError(WeftlineError, OSError):
    """An endpoint cannot be made. ``errno`` is what the system said, if it said anything."""


class ConnectError(WeftlineError, ConnectionError):
    """A connection cannot be made."""

    retryable: bool
    """Whether the same call may succeed later without a change on either end. Wait before that."""

    def __init__(self, text: str, retryable: bool = False) -> None:
        super().__init__(text)
        self.retryable = retryable


class PeerMismatch(ConnectError):
    """Another host answers at this address than the one asked for."""


class PeerRefused(ConnectError):
    """The peer does not allow this host."""


class PeerBusy(ConnectError):
    """The peer accepts no more connections now."""


class ConnectTimeoutError(ConnectError, TimeoutError):
    """Nobody answered in time."""


class EndpointClosed(ConnectError):
    """This endpoint was closed."""


@dataclass(frozen=True)
class CloseReason:
    """Why a connection is over."""

    kind: CloseKind
    """Who ended it, and how: this end, the peer's application, silence, a breach of the protocol by the peer, what
    carries the datagrams, or a peer that refused the session."""
    code: int
    """The peer's application error code; 0 means that all went well. 0 for other kinds than ``"peer"``."""
    text: str
    """The peer's words for the kind ``"peer"``, otherwise a description."""


class ConnectionClosed(WeftlineError, ConnectionError):
    """The connection is over."""

    reason: CloseReason
    """Why."""

    def __init__(self, message: str, kind: CloseKind, code: int, text: str) -> None:
        super().__init__(message)
        self.reason = CloseReason(kind, code, text)


class StreamError(WeftlineError, ConnectionError):
    """A stream cannot be read or written any more."""


class StreamReset(StreamError):
    """The peer gave up sending."""

    code: int
    """The peer's code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class StreamStopped(StreamError):
    """The peer no longer reads."""

    code: int
    """The peer's code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class StreamClosed(StreamError):
    """This end finished, reset or stopped the stream before."""


class SendError(WeftlineError):
    """A message cannot be sent."""


class MessageTooLong(SendError, ValueError):
    """The message is longer than the peer accepts."""

    limit: int
    """Bytes of the longest message that can be sent so."""

    def __init__(self, text: str, limit: int) -> None:
        super().__init__(text)
        self.limit = limit


class NoRoomError(SendError):
    """Too much waits to be sent already; only what does not wait for room meets this."""


class DeliveryError(WeftlineError):
    """A message did not arrive, as far as this end knows."""


class MessageExpired(DeliveryError):
    """The deadline passed before the peer acknowledged the message. It may have arrived all the same."""


class PathError(WeftlineError):
    """A path cannot be added or removed."""


class PairingError(WeftlineError):
    """Two ends were not paired."""

    kind: PairingKind
    """Why: the code is not the one that is open; the other end has not proved that it has the code, and may be
    impersonating the right one; it waits for no code; it does not answer; it does not keep to the protocol."""

    def __init__(self, text: str, kind: PairingKind) -> None:
        super().__init__(text)
        self.kind = kind


class KeyingMaterialError(WeftlineError):
    """Keying material cannot be had."""


class CodecError(WeftlineError, ValueError):
    """The codec refuses a symbol or a parameter."""


class ModelError(WeftlineError, ValueError):
    """A formula or a model refuses its parameters."""


__all__ = [
    "BindError",
    "CloseKind",
    "CloseReason",
    "CodecError",
    "ConfigError",
    "ConnectError",
    "ConnectTimeoutError",
    "ConnectionClosed",
    "DeliveryError",
    "EndpointClosed",
    "FingerprintError",
    "IdentityError",
    "KeyingMaterialError",
    "MessageExpired",
    "MessageTooLong",
    "ModelError",
    "NoRoomError",
    "PairingError",
    "PairingKind",
    "PathError",
    "PeerBusy",
    "PeerMismatch",
    "PeerRefused",
    "SendError",
    "StreamClosed",
    "StreamError",
    "StreamReset",
    "StreamStopped",
    "WeftlineError",
]
