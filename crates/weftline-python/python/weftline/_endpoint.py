"""UDP ports that connect to peers and accept them."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Literal, Optional, TypeVar, Union

from ._config import Config
from ._connection import Connection
from ._native import Allowed, Fingerprint, Identity, bind, bind_insecure, from_socket, from_socket_insecure
from ._native import Endpoint as NativeEndpoint

RefusalKind = Literal["unknown-peer", "full", "crowded", "handshake", "path", "more"]


@dataclass(frozen=True)
class Refusal:
    """A peer that wanted to connect was turned away."""

    kind: RefusalKind
    """Why: it is not allowed, all connections are taken, too many handshakes from there are not finished, its handshake
    failed, its further path belongs to no session here; or more than can be told one by one."""
    text: str
    """The same as a sentence."""
    address: Optional[str]
    """Where it came from."""
    peer: Optional[Fingerprint]
    """The key that it showed, without having proved yet that it holds it."""


_E = TypeVar("_E", bound="_Port")


class _Port:
    """What both kinds of endpoints have in common."""

    def __init__(self, native: NativeEndpoint) -> None:
        self._native = native

    @property
    def local_address(self) -> str:
        """The address and port that are bound."""
        return self._native.local_address()

    async def accept(self) -> Optional[Connection]:
        """Wait for the next connection that a peer opens; ``None`` once the endpoint is closed, or allows nobody."""
        connection = await self._native.accept()
        return None if connection is None else Connection(connection)

    def __aiter__(self: _E) -> _E:
        """Iterate over the connections that peers open."""
        return self

    async def __anext__(self) -> Connection:
        connection = await self.accept()
        if connection is None:
            raise StopAsyncIteration
        return connection

    async def refused(self) -> Optional[Refusal]:
        """Wait for the next peer that is turned away, for the log; ``None`` as with :meth:`accept`.

        Of many, the first eight in ten seconds are told, then how many more there were.
        """
        refusal = await self._native.refused()
        return None if refusal is None else Refusal(*refusal)

    def close(self, code: int = 0, reason: str = "") -> None:
        """Close all connections with this code (below 2^60) and reason; accept and open no more."""
        self._native.close(code, reason)

    async def wait_idle(self) -> None:
        """Wait until all connections are over and their last datagrams have left."""
        await self._native.wait_idle()

    async def __aenter__(self: _E) -> _E:
        return self

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        """Close all connections, and wait until the peers can know."""
        self.close()
        await self.wait_idle()


async def _resolved(address: str) -> str:
    """The address with a number in place of a name."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or host.startswith("["):
        return address
    try:
        socket.inet_aton(host)
    except OSError:
        pass
    else:
        return address
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)
    family, _, _, _, where = found[0]
    return f"[{where[0]}]:{port}" if family == socket.AF_INET6 else f"{where[0]}:{port}"


class Endpoint(_Port):
    """A UDP port that connects to peers and accepts them over QUIC: encrypted, and each end knows who the other is.

    When the last reference is gone, no further peers are accepted; open connections go on. ``async with`` closes it.
    """

    @classmethod
    def bind(
        cls,
        address: str,
        identity: Identity,
        allowed: Optional[Allowed] = None,
        config: Optional[Config] = None,
    ) -> Endpoint:
        """Bind a UDP address; port 0 is any free one. Without ``allowed`` the endpoint accepts nobody and only connects.

        Raises :class:`BindError` or :class:`ConfigError`.
        """
        native = bind(address, identity, allowed or Allowed.nobody(), config or Config())
        return cls(native)

    @classmethod
    def from_socket(
        cls,
        sock: socket.socket,
        identity: Identity,
        allowed: Optional[Allowed] = None,
        config: Optional[Config] = None,
    ) -> Endpoint:
        """As :meth:`bind`, on a UDP socket that is bound already: one that the system handed over, or with options that
        only the application knows. Its buffers stay as they are.

        The endpoint has a duplicate of the socket and makes it non-blocking. Close yours, or keep it for its options;
        do not receive from it.

        Raises :class:`BindError` or :class:`ConfigError`.
        """
        native = from_socket(sock, identity, allowed or Allowed.nobody(), config or Config())
        return cls(native)

    def rebind(self, sock: socket.socket) -> None:
        """Move to another bound UDP socket, of which the endpoint takes a duplicate: for a host whose network has changed.
        Connections go along, as QUIC allows. A server must stay where its clients look for it.

        Raises :class:`BindError` or :class:`ConfigError`; the endpoint then keeps the old socket.
        """
        self._native.rebind(sock)

    @property
    def fingerprint(self) -> Fingerprint:
        """This end's fingerprint."""
        fingerprint = self._native.fingerprint()
        assert fingerprint is not None, "an encrypted endpoint has a key"
        return fingerprint

    async def connect(self, address: str, peer: Union[Fingerprint, str], *, early: bool = False) -> Connection:
        """Connect to the peer with this fingerprint at this address, and to no other.

        The address has a host and a port. With ``early`` the connection is there as soon as data can be sent, before
        the peer has accepted this end. Cancelling gives the attempt up.

        Raises :class:`ConnectError`, :class:`FingerprintError`, :class:`ConfigError`, or :class:`OSError` for a name that
        cannot be resolved.
        """
        return Connection(await self._native.connect(await _resolved(address), peer, early))

    async def connect_stranger(self, address: str, protocol: str) -> Connection:
        """Connect to the unknown host that answers at this address, with this application protocol and no other. The peer
        must accept strangers for it (:meth:`Allowed.and_strangers_for`). ``Connection.peer`` tells which key it has; that
        it is the right one, the two ends have yet to prove to each other, as :mod:`weftline.pairing` does.

        Raises as :meth:`connect`.
        """
        return Connection(await self._native.connect_stranger(await _resolved(address), protocol))

    async def accept_stranger(self) -> Optional[Connection]:
        """Wait for the next connection of a peer that asked for what strangers may ask for; ``None`` as with
        :meth:`accept`. At most eight are open at a time: close each of them soon."""
        connection = await self._native.accept_stranger()
        return None if connection is None else Connection(connection)

    def set_allowed(self, allowed: Allowed) -> None:
        """Replace the rule that says which peers may connect, from the next handshake on. Open connections stay."""
        self._native.set_allowed(allowed)

    def __repr__(self) -> str:
        return f"<Endpoint {self.fingerprint} at {self.local_address}>"


class InsecureEndpoint(_Port):
    """A UDP port on which **nothing is encrypted or authenticated**: everybody who reaches it may connect, and everybody
    who sees the packets can read and forge them. For the laboratory, and for links that you own.
    """

    @classmethod
    def bind(cls, address: str, config: Optional[Config] = None) -> InsecureEndpoint:
        """Bind a UDP address; port 0 is any free one.

        Raises :class:`BindError` or :class:`ConfigError`.
        """
        return cls(bind_insecure(address, config or Config()))

    @classmethod
    def from_socket(cls, sock: socket.socket, config: Optional[Config] = None) -> InsecureEndpoint:
        """As :meth:`bind`, on a UDP socket that is bound already, as :meth:`Endpoint.from_socket` takes it.

        Raises :class:`BindError` or :class:`ConfigError`.
        """
        return cls(from_socket_insecure(sock, config or Config()))

    async def connect(self, address: str, *, early: bool = False) -> Connection:
        """Connect to whatever answers at this address.

        Raises as :meth:`Endpoint.connect`.
        """
        return Connection(await self._native.connect(await _resolved(address), None, early))

    def __repr__(self) -> str:
        return f"<InsecureEndpoint at {self.local_address}>"
