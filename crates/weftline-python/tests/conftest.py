"""What the tests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Optional, TypeVar

from weftline import Allowed, Config, Connection, Endpoint, Identity

T = TypeVar("T")


def run(test: Callable[[], Awaitable[T]], seconds: float = 30.0) -> T:
    """Runs a test on a loop of its own."""

    async def limited() -> T:
        return await asyncio.wait_for(test(), seconds)

    return asyncio.run(limited())


@asynccontextmanager
async def pair(
    server_config: Optional[Config] = None, client_config: Optional[Config] = None
) -> AsyncGenerator[tuple[Connection, Connection], None]:
    """A client's connection, and the server's end of it, over loopback."""
    ours, theirs = Identity.generate(), Identity.generate()
    allowed = Allowed.only([ours.fingerprint])
    async with Endpoint.bind("127.0.0.1:0", theirs, allowed, server_config) as server:
        async with Endpoint.bind("127.0.0.1:0", ours, config=client_config) as client:
            connecting = asyncio.ensure_future(client.connect(server.local_address, theirs.fingerprint))
            accepted = await server.accept()
            assert accepted is not None
            yield await connecting, accepted
