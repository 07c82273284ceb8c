"""A connection to a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from ._native import Connection as NativeConnection
from ._native import Fingerprint, Message
from ._native import Receipt as NativeReceipt
from ._stats import PathReport, Stats, read_path_report, read_stats
from ._streams import StreamReader, StreamWriter
from ._types import Buffer
from .errors import CloseReason

PathChange = Literal["opened", "silent", "heard", "lost", "failed", "removed"]
RawPath = tuple[str, str, Optional[str], bool, Optional[str]]


@dataclass(frozen=True)
class PathInfo:
    """How one of the connection's paths is."""

    name: str
    """The path's name in the connection, such as ``"path 1"``."""
    request: str
    """What was asked for; at the server's end the cost alone."""
    remote_address: Optional[str]
    """The peer's address on this path; ``None`` while the path is being opened."""
    is_silent: bool
    """Nothing is heard of it."""
    report: Optional[PathReport]
    """Counters and estimates."""


def read_paths(paths: list[RawPath]) -> list[PathInfo]:
    """What the native module tells of paths."""
    return [
        PathInfo(name, request, remote, silent, None if report is None else read_path_report(report))
        for name, request, remote, silent, report in paths
    ]


@dataclass(frozen=True)
class PathEvent:
    """Something has happened to a path."""

    name: str
    """To which one."""
    change: PathChange
    """What: it carries data, is silent, is heard again, has lost its connection, cannot be opened, or was removed."""
    text: str
    """The same as a sentence."""


class Receipt:
    """Tells what became of a message. It may be dropped: the message goes its way all the same."""

    def __init__(self, native: NativeReceipt) -> None:
        self._native = native

    @property
    def id(self) -> int:
        """The message's number: ``Message.id`` at the peer."""
        return self._native.id

    async def delivered(self) -> None:
        """Wait until the peer has acknowledged the message.

        Raises :class:`MessageExpired` or :class:`ConnectionClosed`.
        """
        await self._native.delivered()


class Connection:
    """A connection with one peer. It carries any number of streams, and messages.

    When the last reference to it and to its streams is gone, it is closed with code 0: what the peer has not acknowledged by
    then is lost. Leaving ``async with`` waits for the acknowledgement first; after an exception it closes
    with code 1 at once.
    """

    def __init__(self, native: NativeConnection) -> None:
        self._native = native

    async def open_stream(self) -> tuple[StreamReader, StreamWriter]:
        """Open a stream; wait while the peer allows no further one. The peer learns of it with the first data.

        Raises :class:`ConnectionClosed`.
        """
        read, write = await self._native.open_stream()
        return StreamReader(read), StreamWriter(write)

    async def accept_stream(self) -> tuple[StreamReader, StreamWriter]:
        """Wait for the next stream that the peer opens.

        Raises :class:`ConnectionClosed`.
        """
        read, write = await self._native.accept_stream()
        return StreamReader(read), StreamWriter(write)

    async def send_message(self, data: Buffer, deadline: Optional[float] = None) -> Receipt:
        """Send a copy of the data as a message; wait while there is no room for it.

        Messages arrive whole, in any order. With a ``deadline``, in seconds from now, no effort is made for a message
        that would arrive later; without one it is delivered like the data of a stream.

        Raises :class:`MessageTooLong`, :class:`ConnectionClosed`, or :class:`ConfigError` for a negative deadline.
        """
        return Receipt(await self._native.send_message(data, deadline))

    def try_send_message(self, data: Buffer, deadline: Optional[float] = None, *, alone: bool = False) -> Receipt:
        """As :meth:`send_message`, without waiting: for what is worth nothing later.

        With ``alone`` the message has a symbol of its own: it is never cut in pieces, and no other is lost with it.
        :attr:`message_alone_max` says how long it may be.

        Raises :class:`NoRoomError`, and as :meth:`send_message`.
        """
        return Receipt(self._native.try_send_message(data, deadline, alone))

    async def message_writable(self, length: int) -> None:
        """Wait until there is room for a message of this many bytes.

        Raises :class:`ConnectionClosed`.
        """
        await self._native.message_writable(length)

    @property
    def message_alone_max(self) -> int:
        """Bytes of the longest message that may travel ``alone`` now."""
        return self._native.message_alone_max()

    async def recv_message(self) -> Message:
        """Wait for the next message of the peer.

        Raises :class:`ConnectionClosed`.
        """
        return await self._native.recv_message()

    async def confirmed(self) -> None:
        """Wait until the peer has proved that it is live; returns at once without early data.

        Raises :class:`ConnectionClosed`.
        """
        await self._native.confirmed()

    async def flushed(self) -> None:
        """Wait until the peer has acknowledged everything that was sent.

        Raises :class:`ConnectionClosed`.
        """
        await self._native.flushed()

    def close(self, code: int = 0, reason: str = "") -> None:
        """Close at once: all that waits on either end fails, and what the peer has not acknowledged may be lost.

        Code 0 means that all went well; codes are below 2^60. Before the program ends, leave the endpoint's
        ``async with``, or wait for ``Endpoint.wait_idle``, so that the peer learns of it.
        """
        self._native.close(code, reason)

    async def closed(self) -> CloseReason:
        """Wait for the end of the connection, from either side."""
        return CloseReason(*await self._native.closed())

    @property
    def close_reason(self) -> Optional[CloseReason]:
        """Why the connection is over; ``None`` while it is not."""
        reason = self._native.close_reason()
        return None if reason is None else CloseReason(*reason)

    @property
    def peer(self) -> Optional[Fingerprint]:
        """The peer's fingerprint, which it proved; ``None`` on plain UDP."""
        return self._native.peer()

    @property
    def remote_address(self) -> str:
        """The peer's address now."""
        return self._native.remote_address()

    @property
    def application_protocol(self) -> Optional[str]:
        """The application protocol that both ends agreed on, if they name any."""
        return self._native.application_protocol()

    def export_keying_material(self, length: int, label: Buffer, context: Buffer = b"") -> bytes:
        """Bytes that only the two ends can compute (the TLS exporter, RFC 5705).

        Raises :class:`KeyingMaterialError`.
        """
        return self._native.export_keying_material(length, label, context)

    def stats(self) -> Stats:
        """Counters and estimates now."""
        return read_stats(self._native.stats())

    @property
    def last_heard(self) -> float:
        """Seconds since the newest valid datagram of the peer arrived."""
        return self._native.last_heard()

    @property
    def rtt(self) -> float:
        """Smoothed round-trip time, seconds."""
        return self._native.rtt()

    async def add_path(self, request: str) -> str:
        """Open a further path to the same peer, and keep it open: ``"wlan0"``, ``"192.0.2.7"``, ``"wwan0,cost=1"``.

        Only the end that connected can do this. Returns the path's name.

        Raises :class:`PathError`, :class:`ConnectError`, :class:`ConfigError` or :class:`ConnectionClosed`.
        """
        return await self._native.add_path(request)

    def remove_path(self, name: str) -> None:
        """Do without a path from now on.

        Raises :class:`PathError`: there is no such path, or it is the only one; or :class:`ConnectionClosed`.
        """
        self._native.remove_path(name)

    def paths(self) -> list[PathInfo]:
        """The connection's paths now."""
        return read_paths(self._native.paths())

    async def path_event(self) -> PathEvent:
        """Wait for the next thing that happens to a path. Of more than 64 that nobody asks for, the oldest are dropped.

        Raises :class:`ConnectionClosed`.
        """
        return PathEvent(*await self._native.path_event())

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self.close(1, "an exception")
        elif self.close_reason is None:
            await self.flushed()
            self.close()

    def __repr__(self) -> str:
        return f"<Connection with {self.peer} at {self.remote_address}>"
