"""Streams, with the methods of :mod:`asyncio`'s own."""

from __future__ import annotations

from asyncio import IncompleteReadError, LimitOverrunError
from collections.abc import Iterable

from ._native import ReadStream, WriteStream
from ._types import Buffer

_CHUNK = 256 << 10
"""Bytes read at a time where the caller does not say."""
_LIMIT = 64 << 10
"""Bytes in which ``readuntil`` looks for its separator, as in asyncio."""


class StreamReader:
    """The reading half of a stream: bytes in order.

    Dropping it before the end of the stream tells the peer to stop, with code 0. One task reads at a time. A read that
    was cancelled or that failed has taken nothing: what had arrived is there for the next one.
    """

    def __init__(self, native: ReadStream) -> None:
        self._native = native
        self._buffer = bytearray()
        self._at_end = False
        self._is_waiting = False

    @property
    def id(self) -> int:
        """The stream's number, the same on both ends."""
        return self._native.id

    async def _more(self, most: int) -> bytes:
        """What arrives next; nothing at the end."""
        if self._is_waiting:
            raise RuntimeError("another task is reading this stream already")
        self._is_waiting = True
        try:
            data = await self._native.read(most)
        finally:
            self._is_waiting = False
        self._at_end = not data
        return data

    def _take(self, length: int) -> bytes:
        """Bytes from the beginning of the buffer."""
        with memoryview(self._buffer) as view:
            data = bytes(view[:length])
        del self._buffer[:length]
        return data

    async def read(self, n: int = -1) -> bytes:
        """Read at most ``n`` bytes, as soon as there is one; all until the end of the stream with a negative ``n``.

        Returns nothing at the end of the stream.

        Raises :class:`StreamReset`, :class:`StreamClosed` (after :meth:`stop`) or :class:`ConnectionClosed`.
        """
        if n < 0:
            while not self._at_end:
                self._buffer += await self._more(_CHUNK)
            return self._take(len(self._buffer))
        if n == 0:
            return b""
        if self._buffer:
            return self._take(n)
        return await self._more(n)

    async def readexactly(self, n: int) -> bytes:
        """Read ``n`` bytes.

        Raises :class:`asyncio.IncompleteReadError`, which has what there was, if the stream ends before; otherwise as
        :meth:`read`.
        """
        if n < 0:
            raise ValueError("n must be 0 or more")
        while len(self._buffer) < n:
            data = await self._more(max(n - len(self._buffer), _LIMIT))
            if not data:
                raise IncompleteReadError(self._take(len(self._buffer)), n)
            self._buffer += data
        return self._take(n)

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        """Read until the separator, and with it.

        Raises :class:`asyncio.IncompleteReadError` if the stream ends before, :class:`asyncio.LimitOverrunError` if
        there is no separator in 64 KiB, which stay to be read; otherwise as :meth:`read`.
        """
        if not separator:
            raise ValueError("the separator must have a byte at least")
        searched = 0
        while True:
            found = self._buffer.find(separator, searched)
            if found >= 0:
                return self._take(found + len(separator))
            searched = max(0, len(self._buffer) - len(separator) + 1)
            if searched > _LIMIT:
                raise LimitOverrunError("no separator in 64 KiB", searched)
            data = await self._more(_LIMIT)
            if not data:
                raise IncompleteReadError(self._take(len(self._buffer)), None)
            self._buffer += data

    async def readline(self) -> bytes:
        """Read a line with its end; what is left if the stream ends before.

        Raises as :meth:`readuntil`, but for :class:`asyncio.IncompleteReadError`.
        """
        try:
            return await self.readuntil(b"\n")
        except IncompleteReadError as error:
            return error.partial

    def at_eof(self) -> bool:
        """Whether the end of the stream was reached and everything was read."""
        return self._at_end and not self._buffer

    def stop(self, code: int = 0) -> None:
        """Give up reading: what arrives is discarded, and the peer's writes fail with the code (below 2^60)."""
        self._buffer.clear()
        self._native.stop(code)

    def __aiter__(self) -> StreamReader:
        """Iterate over lines."""
        return self

    async def __anext__(self) -> bytes:
        line = await self.readline()
        if not line:
            raise StopAsyncIteration
        return line


class StreamWriter:
    """The writing half of a stream.

    Dropping it without :meth:`close` or :meth:`write_eof` resets the stream with code 0: the peer may lose what it has
    not read.
    """

    def __init__(self, native: WriteStream) -> None:
        self._native = native

    @property
    def id(self) -> int:
        """The stream's number, the same on both ends."""
        return self._native.id

    def write(self, data: Buffer) -> None:
        """Queue a copy of the data. Follow it with :meth:`drain`, or the queue grows without bound.

        Raises :class:`StreamStopped`, :class:`StreamClosed` or :class:`ConnectionClosed`.
        """
        self._native.write(data)

    def writelines(self, data: Iterable[Buffer]) -> None:
        """Queue copies of several pieces of data."""
        for piece in data:
            self.write(piece)

    async def drain(self) -> None:
        """Wait while more than 256 KiB are queued, until there are at most 64.

        Raises as :meth:`write`.
        """
        await self._native.drain()

    @property
    def queued(self) -> int:
        """Bytes that are queued here, and not given to the connection yet."""
        return self._native.queued()

    def can_write_eof(self) -> bool:
        """Always true."""
        return True

    def write_eof(self) -> None:
        """Finish: the peer reads what was written, and then sees the end."""
        self._native.finish()

    def close(self) -> None:
        """As :meth:`write_eof`: what is queued is still sent."""
        self._native.finish()

    def is_closing(self) -> bool:
        """Whether the half was finished or reset, or has failed."""
        return self._native.is_ending()

    async def wait_closed(self) -> None:
        """Wait until the peer has everything. Call :meth:`close` first.

        Raises :class:`StreamStopped`, :class:`StreamClosed` (after :meth:`reset`) or :class:`ConnectionClosed`.
        """
        await self._native.wait_closed()

    def reset(self, code: int = 0) -> None:
        """Give up writing: the peer may lose what it has not read, and sees the code (below 2^60)."""
        self._native.reset(code)

    async def __aenter__(self) -> StreamWriter:
        return self

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        """Close, and wait until the peer has everything; after an exception, reset with code 0."""
        if kind is not None:
            self.reset()
            return
        self.close()
        await self.wait_closed()
