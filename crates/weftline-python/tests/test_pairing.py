"""Pairing by a code."""

from __future__ import annotations

import asyncio

import pytest
from conftest import run

from weftline import (
    Allowed,
    ConfigError,
    ConnectError,
    Endpoint,
    Fingerprint,
    Identity,
    InsecureEndpoint,
    PairingError,
)
from weftline.pairing import PROTOCOL, Host, Paired, pair


def test_two_ends_pair_by_a_code_and_connect_by_what_they_learned() -> None:
    async def test() -> None:
        ours = Identity.generate()
        open_to_strangers = Allowed.nobody().and_strangers_for(PROTOCOL)
        async with Endpoint.bind("127.0.0.1:0", Identity.generate(), open_to_strangers) as endpoint:
            host = Host(endpoint, "studio")
            assert host.code is None and host.pause == 0
            code = host.open()
            assert code is not None and host.code == code

            def admit(peer: Fingerprint) -> None:
                endpoint.set_allowed(Allowed.only([peer]))

            async def answer() -> Paired:
                stranger = await endpoint.accept_stranger()
                assert stranger is not None
                return await host.answer(stranger, admit)

            theirs, found = await asyncio.gather(
                answer(), pair(endpoint.local_address, code.upper().replace("-", " "), ours, "laptop")
            )
            assert (found.peer, found.name, found.address) == (endpoint.fingerprint, "studio", endpoint.local_address)
            assert (theirs.peer, theirs.name) == (ours.fingerprint, "laptop")
            assert theirs.address.startswith("127.0.0.1:")
            # It is good for one.
            assert host.code is None and host.pause == 0
            async with Endpoint.bind("127.0.0.1:0", ours) as client:
                async with await client.connect(found.address, found.peer):
                    accepted = await endpoint.accept()
                    assert accepted is not None and accepted.peer == theirs.peer

    run(test)


def test_three_wrong_tries_end_a_code() -> None:
    async def test() -> None:
        open_to_strangers = Allowed.nobody().and_strangers_for(PROTOCOL)
        async with Endpoint.bind("127.0.0.1:0", Identity.generate(), open_to_strangers) as endpoint:
            host = Host(endpoint)
            code = host.open()
            assert code is not None
            number, *words = code.split("-")
            wrong = "-".join([str(int(number) % 99 + 1), *words])
            admitted: list[Fingerprint] = []

            async def answer() -> None:
                stranger = await endpoint.accept_stranger()
                assert stranger is not None
                with pytest.raises(PairingError, match="wrong code"):
                    await host.answer(stranger, admitted.append)

            for _ in range(3):
                assert host.code == code
                answering = asyncio.ensure_future(answer())
                with pytest.raises(PairingError) as refused:
                    await pair(endpoint.local_address, wrong, Identity.generate())
                assert refused.value.kind == "wrong-code"
                await answering
            assert host.code is None and host.open() is None
            assert 0 < host.pause <= 5 and admitted == []

    run(test)


def test_a_host_without_a_code_and_one_that_does_not_admit() -> None:
    async def test() -> None:
        known = Identity.generate()
        async with Endpoint.bind("127.0.0.1:0", Identity.generate(), Allowed.only([known.fingerprint])) as endpoint:
            with pytest.raises(PairingError) as refused:
                await pair(endpoint.local_address, "7-amber-river", Identity.generate())
            assert refused.value.kind == "no-code"
            endpoint.set_allowed(Allowed.nobody().and_strangers_for(PROTOCOL))
            host = Host(endpoint)
            code = host.open()
            assert code is not None

            def admit(peer: Fingerprint) -> None:
                raise KeyError(peer)

            async def answer() -> None:
                stranger = await endpoint.accept_stranger()
                assert stranger is not None
                with pytest.raises(KeyError):
                    await host.answer(stranger, admit)

            await asyncio.gather(answer(), pair(endpoint.local_address, code, known))

    run(test)


def test_strangers_agree_on_a_protocol_of_their_own() -> None:
    async def test() -> None:
        meet = Allowed.nobody().and_strangers_for("meet/1")
        async with Endpoint.bind("127.0.0.1:0", Identity.generate(), meet) as server:
            async with Endpoint.bind("127.0.0.1:0", Identity.generate()) as client:
                connecting = asyncio.ensure_future(client.connect_stranger(server.local_address, "meet/1"))
                accepted = await server.accept_stranger()
                assert accepted is not None and accepted.peer == client.fingerprint
                connection = await connecting
                assert connection.peer == server.fingerprint
                assert connection.application_protocol == "meet/1"
                with pytest.raises(ConnectError, match="application protocol"):
                    await client.connect_stranger(server.local_address, "other/1")
                server.set_allowed(Allowed.nobody())
                assert await server.accept_stranger() is None

    run(test)


def test_misuse_is_refused() -> None:
    async def test() -> None:
        identity = Identity.generate()
        for address, code, name in (
            ("", "7-amber-river", None),
            ("127.0.0.1:0:0", "7-amber-river", None),
            ("127.0.0.1", "7-amber", None),
            ("127.0.0.1", "7-amber-rivr", None),
            ("127.0.0.1", "7-amber-river", "a name"),
        ):
            with pytest.raises(ConfigError):
                await pair(address, code, identity, name)
        for wrong in (None, 7, b"7-amber-river"):
            with pytest.raises(TypeError):
                await pair("127.0.0.1", wrong, identity)  # type: ignore[arg-type]
        endpoint = Endpoint.bind("127.0.0.1:0", identity)
        with pytest.raises(ConfigError, match="name"):
            Host(endpoint, "a name")
        with pytest.raises(TypeError):
            Host(endpoint, 7)  # type: ignore[arg-type]
        endpoint.close()
        assert await endpoint.accept_stranger() is None
        with pytest.raises(ConnectError, match="closed"):
            await endpoint.connect_stranger("127.0.0.1:9", PROTOCOL)
        # Without encryption nobody can tell who has the code.
        host = Host(endpoint)
        host.open()
        async with InsecureEndpoint.bind("127.0.0.1:0") as server, InsecureEndpoint.bind("127.0.0.1:0") as client:
            connection = await client.connect(server.local_address)
            with pytest.raises(TypeError, match="admit"):
                await host.answer(connection, 7)  # type: ignore[arg-type]
            with pytest.raises(ConnectError, match="plain UDP"):
                await host.answer(connection, print)
            connection.close()
            with pytest.raises(ConnectError):
                await host.answer(connection, print)

    run(test)
