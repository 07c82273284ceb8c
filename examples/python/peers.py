"""What the examples share: a connection, from the command line."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from weftline import Allowed, Config, Connection, Endpoint, Identity


def parser(description: str) -> argparse.ArgumentParser:
    """Options that say who the two ends are."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--identity", default="identity.pem", help="file with this host's key; made on first use")
    parser.add_argument("--scheme", default="auto", help="preset and options, such as auto,delay=20")
    ends = parser.add_subparsers(dest="end", required=True)
    listen = ends.add_parser("listen", help="wait for the peer")
    listen.add_argument("address", help="such as 0.0.0.0:4433")
    listen.add_argument("peer", nargs="?", help="fingerprint of the peer that may connect; without it, show ours")
    connect = ends.add_parser("connect", help="connect to the peer")
    connect.add_argument("address", help="such as 192.0.2.1:4433")
    connect.add_argument("peer", nargs="?", help="fingerprint of the peer; without it, show ours")
    return parser


@asynccontextmanager
async def connection(args: argparse.Namespace) -> AsyncGenerator[Connection, None]:
    """The connection that the command line asks for."""
    identity, config = Identity.load_or_create(args.identity), Config(args.scheme)
    print(f"this host is {identity.fingerprint}", flush=True)
    if args.peer is None:
        raise SystemExit("give the peer's fingerprint")
    is_server = args.end == "listen"
    address = args.address if is_server else "0.0.0.0:0"
    allowed = Allowed.only([args.peer]) if is_server else Allowed.nobody()
    async with Endpoint.bind(address, identity, allowed, config) as endpoint:
        if is_server:
            print(f"listening at {endpoint.local_address}", flush=True)
            found = await endpoint.accept()
            assert found is not None, "the endpoint is open"
        else:
            found = await endpoint.connect(args.address, args.peer)
        async with found:
            yield found
