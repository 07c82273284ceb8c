"""Two ends learn each other's fingerprints by a short code, which one person reads to another.

One end is a :class:`Host` and shows a code, the other calls :func:`pair` with it. Both then know the fingerprint of the
end that has the code too, and connect by it from then on. The reference page on pairing says what is proved.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from ._config import Config
from ._connection import Connection
from ._endpoint import Endpoint
from ._native import PAIRING_PROTOCOL, Fingerprint, Identity, PairingHost
from ._native import pair as native_pair
from .errors import PairingError

PROTOCOL = PAIRING_PROTOCOL
"""The application protocol of strangers who have a code: ``allowed.and_strangers_for(PROTOCOL)``."""


@dataclass(frozen=True)
class Paired:
    """The other end has the code, and this is who it is."""

    peer: Fingerprint
    """Its fingerprint."""
    name: Optional[str]
    """What it calls itself, if it says so."""
    address: str
    """Where it is."""


class Host:
    """The end that shows codes. Its endpoint accepts strangers for :data:`PROTOCOL` while a code is open, and only then:
    that is up to the application (``Endpoint.set_allowed``).

    ``name`` is what this end calls itself: 1 to 32 ASCII letters, digits, dots, dashes and underscores.

    Raises :class:`ConfigError` for another name.
    """

    def __init__(self, endpoint: Endpoint, name: Optional[str] = None) -> None:
        self._native = PairingHost(endpoint.fingerprint, name)

    def open(self) -> Optional[str]:
        """Open a new code in place of another one, such as ``"7-amber-river"``; ``None`` while :attr:`pause` is not 0.

        A code is good for one peer, and ends after three wrong tries.
        """
        return self._native.open()

    @property
    def code(self) -> Optional[str]:
        """The code that is open."""
        return self._native.code()

    @property
    def pause(self) -> float:
        """Seconds until a code may be opened again after one that ended by wrong tries: more each time."""
        return self._native.pause()

    async def answer(self, stranger: Connection, admit: Callable[[Fingerprint], object]) -> Paired:
        """Do the exchange with a stranger (``Endpoint.accept_stranger``), and close its connection.

        As soon as the stranger has proved that it has the code, ``admit`` is called with its fingerprint, and lets it in: it
        may connect at once. What ``admit`` raises is raised here; the stranger is told of success all the same. After a
        proof the code is used, even if this call is cancelled then.

        Raises :class:`PairingError`, :class:`ConnectError` or :class:`ConnectionClosed`.
        """
        if inspect.iscoroutinefunction(admit):
            raise TypeError("admit is a coroutine function: give one that lets the peer in before it returns")
        native = stranger._native  # pyright: ignore[reportPrivateUsage]
        try:
            return Paired(*await self._native.answer(native, admit))
        except asyncio.CancelledError:
            stranger.close()
            raise


async def pair(
    address: str, code: str, identity: Identity, name: Optional[str] = None, config: Optional[Config] = None
) -> Paired:
    """Meet the host at this address that shows this code, from a port of its own, and tell it ``name``. Without a port, the
    address has port 9338. Cancelling gives the attempt up; at its end the host may have admitted this end by then.

    Raises :class:`PairingError`, :class:`ConnectError`, :class:`ConnectionClosed`, :class:`BindError`, or
    :class:`ConfigError` for a text that is no address, code or name.
    """
    return Paired(*await native_pair(address, code, identity, name, config or Config()))


__all__ = ["PROTOCOL", "Host", "Paired", "PairingError", "pair"]
