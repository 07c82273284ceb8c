"""Endpoints: who may connect, and how connecting fails."""

from __future__ import annotations

import asyncio
import json
import pathlib
import pickle
import socket
import stat

import pytest
from conftest import pair, run

import weftline
from weftline import (
    Allowed,
    BindError,
    Config,
    ConfigError,
    ConnectError,
    ConnectTimeoutError,
    Endpoint,
    EndpointClosed,
    EventLogs,
    Fingerprint,
    FingerprintError,
    Identity,
    IdentityError,
    InsecureEndpoint,
    Monitor,
    PathError,
    PeerMismatch,
    PeerRefused,
)

TEXT = "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u"


def test_both_ends_know_who_the_other_is() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            assert client.peer is not None and server.peer is not None
            assert client.peer != server.peer
            key = client.export_keying_material(32, b"label", b"context")
            assert key == server.export_keying_material(32, b"label", b"context")
            assert key != client.export_keying_material(32, b"label")
            await client.confirmed()
            assert client.rtt < 5 and client.last_heard < 5
            assert client.application_protocol is None
            assert client.remote_address.startswith("127.0.0.1:")

    run(test)


def test_an_endpoint_accepts_nobody_unless_it_is_told_whom() -> None:
    async def test() -> None:
        server_key, client_key = Identity.generate(), Identity.generate()
        async with Endpoint.bind("127.0.0.1:0", client_key) as client:
            async with Endpoint.bind("127.0.0.1:0", server_key) as server:
                assert await server.accept() is None
                server.set_allowed(Allowed.only([Identity.generate().fingerprint]))
                with pytest.raises(PeerRefused, match=str(client_key.fingerprint)):
                    await client.connect(server.local_address, server_key.fingerprint)
                refusal = await server.refused()
                assert refusal is not None and refusal.kind == "unknown-peer"
                assert refusal.peer == client_key.fingerprint
                server.set_allowed(Allowed.only([str(client_key.fingerprint)]))
                async with await client.connect(server.local_address, str(server.fingerprint)):
                    accepted = await server.accept()
                    assert accepted is not None and accepted.peer == client.fingerprint

    run(test)


def test_another_host_than_the_one_asked_for_is_refused() -> None:
    async def test() -> None:
        async with Endpoint.bind("127.0.0.1:0", Identity.generate(), Allowed.anyone()) as server:
            async with Endpoint.bind("127.0.0.1:0", Identity.generate()) as client:
                with pytest.raises(PeerMismatch) as refused:
                    await client.connect(server.local_address, TEXT)
                assert not refused.value.retryable

    run(test)


def test_silence_ends_with_a_timeout_and_cancelling_gives_up() -> None:
    async def test() -> None:
        config = Config(connect_timeout=0.3)
        # Nothing answers: the endpoint that is bound there allows nobody.
        async with Endpoint.bind("127.0.0.1:0", Identity.generate()) as silent:
            async with Endpoint.bind("127.0.0.1:0", Identity.generate(), config=config) as client:
                with pytest.raises(ConnectTimeoutError) as late:
                    await client.connect(silent.local_address, TEXT)
                assert late.value.retryable
                assert isinstance(late.value, TimeoutError)
                attempt = asyncio.ensure_future(client.connect(silent.local_address, TEXT))
                await asyncio.sleep(0)
                attempt.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await attempt

    run(test)


def test_host_names_are_resolved() -> None:
    async def test() -> None:
        async with InsecureEndpoint.bind("127.0.0.1:0") as server:
            port = server.local_address.rpartition(":")[2]
            async with InsecureEndpoint.bind("127.0.0.1:0") as client:
                async with await client.connect(f"localhost:{port}") as connection:
                    assert connection.peer is None
                with pytest.raises(OSError):
                    await client.connect("no-such-host.invalid:1")

    run(test)


def test_connections_can_be_iterated_over_until_the_endpoint_closes() -> None:
    async def test() -> None:
        async with InsecureEndpoint.bind("127.0.0.1:0") as server:
            async with InsecureEndpoint.bind("127.0.0.1:0") as client:
                for _ in range(3):
                    connection = await client.connect(server.local_address)
                    await connection.flushed()
                asyncio.get_running_loop().call_later(0.2, server.close)
                count = 0
                async for _ in server:
                    count += 1
                assert count == 3
                client.close()
                with pytest.raises(EndpointClosed):
                    await client.connect(server.local_address)

    run(test)


def test_application_protocols_must_agree() -> None:
    async def test() -> None:
        one, other = (Config(application_protocols=[name]) for name in ("one/1", "other/1"))
        async with pair(one, one) as (client, server):
            assert client.application_protocol == server.application_protocol == "one/1"
        with pytest.raises(ConnectError, match="application protocol"):
            ours, theirs = Identity.generate(), Identity.generate()
            async with Endpoint.bind("127.0.0.1:0", theirs, Allowed.anyone(), one) as server_end:
                async with Endpoint.bind("127.0.0.1:0", ours, config=other) as client_end:
                    await client_end.connect(server_end.local_address, theirs.fingerprint)

    run(test)


def test_leaving_async_with_delivers_and_an_exception_closes_with_code_1() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            async with client:
                await client.send_message(bytes(100_000))
            assert len((await server.recv_message()).data) == 100_000
            assert (await server.closed()).code == 0
        async with pair() as (client, server):
            with pytest.raises(KeyError):
                async with client:
                    raise KeyError
            assert (await server.closed()).code == 1

    run(test)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (Config("luck"), "unknown preset"),
        (Config("auto,k=3"), "unknown setting"),
        (Config(connect_timeout=0), "connect_timeout"),
        (Config(connect_timeout=float("nan")), "connect_timeout"),
        (Config(idle_timeout=-1), "idle_timeout"),
        (Config(max_sessions=0), "max_sessions"),
        (Config(message_size=1), "message_size"),
        (Config(application_protocols=[""]), "application_protocols"),
        (Config(paths=["cost=1"]), "not a path"),
        (Config(congestion="luck"), "congestion"),  # type: ignore[arg-type]
    ],
)
def test_a_configuration_out_of_range_is_refused_by_name(config: Config, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Endpoint.bind("127.0.0.1:0", Identity.generate(), config=config)


@pytest.mark.parametrize("scheme", ["auto", "arq", "block,k=16", "streaming,l=5", "auto,delay=20,idle=5"])
def test_each_scheme_carries_a_message(scheme: str) -> None:
    async def test() -> None:
        async with pair(Config(scheme), Config(scheme)) as (client, server):
            await client.send_message(scheme.encode())
            assert (await server.recv_message()).data == scheme.encode()

    run(test)


def test_an_address_that_cannot_be_bound_is_told() -> None:
    with pytest.raises(BindError) as taken:
        Endpoint.bind("192.0.2.1:1", Identity.generate())
    assert isinstance(taken.value, OSError) and taken.value.errno is not None
    for wrong in ("localhost", "127.0.0.1", "", "127.0.0.1:99999"):
        with pytest.raises(ConfigError, match="address"):
            Endpoint.bind(wrong, Identity.generate())


def udp() -> socket.socket:
    """A bound socket."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


def address(sock: socket.socket) -> str:
    host, port = sock.getsockname()
    return f"{host}:{port}"


def test_an_endpoint_uses_a_socket_that_was_given_and_moves_to_another() -> None:
    async def test() -> None:
        theirs, ours = Identity.generate(), Identity.generate()
        with udp() as given, udp() as first, udp() as second:
            server = Endpoint.from_socket(given, theirs, Allowed.only([ours.fingerprint]))
            client = Endpoint.from_socket(first, ours)
            async with server, client:
                # Each has a socket of its own.
                bound = address(given), address(first), address(second)
                given.close()
                first.close()
                assert (server.local_address, client.local_address) == bound[:2]
                connecting = asyncio.ensure_future(client.connect(bound[0], theirs.fingerprint))
                accepted = await server.accept()
                assert accepted is not None and accepted.remote_address == bound[1]
                async with await connecting as connection:
                    client.rebind(second)
                    assert client.local_address == bound[2]
                    await connection.send_message(b"moved")
                    assert (await accepted.recv_message()).data == b"moved"
                    await connection.flushed()
                    assert accepted.remote_address == bound[2]

    run(test)


def test_a_plain_endpoint_uses_a_socket_that_was_given() -> None:
    async def test() -> None:
        with udp() as given:
            async with InsecureEndpoint.from_socket(given) as server, InsecureEndpoint.bind("127.0.0.1:0") as client:
                connecting = asyncio.ensure_future(client.connect(address(given)))
                accepted = await server.accept()
                assert accepted is not None
                async with await connecting as connection:
                    await connection.send_message(b"hello")
                    assert (await accepted.recv_message()).data == b"hello"

    run(test)


def test_a_socket_that_cannot_carry_an_endpoint_is_refused() -> None:
    endpoint = Endpoint.bind("127.0.0.1:0", Identity.generate())
    before = endpoint.local_address
    closed = udp()
    closed.close()
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unbound:
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        tcp.bind(("127.0.0.1", 0))
        lies = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, fileno=socket.dup(tcp.fileno()))
        connected = udp()
        connected.connect(("127.0.0.1", 9))
        with left, right, lies, connected:
            for wrong, text in (
                (closed, "closed"),
                (tcp, "not of UDP"),
                (lies, "not of UDP"),
                (left, "not of UDP"),
                (unbound, "bind it"),
                (connected, "connected"),
            ):
                for use in (endpoint.rebind, InsecureEndpoint.from_socket):
                    with pytest.raises(ConfigError, match=text):
                        use(wrong)
    for other in (None, 3, "127.0.0.1:0", endpoint):
        for use in (endpoint.rebind, InsecureEndpoint.from_socket):
            with pytest.raises(TypeError, match="socket"):
                use(other)  # type: ignore[arg-type]
    assert endpoint.local_address == before


def test_identities_live_in_private_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "keys" / "identity.pem"
    made = Identity.load_or_create(path)
    assert Identity.load(str(path)).fingerprint == made.fingerprint
    assert Identity.from_pem(made.to_pem()).fingerprint == made.fingerprint
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "PRIVATE" not in repr(made)
    path.chmod(0o644)
    with pytest.raises(IdentityError, match="chmod 600"):
        Identity.load(path)
    with pytest.raises(IdentityError):
        Identity.load(tmp_path / "none")
    for wrong in (b"", b"x" * 100):
        with pytest.raises(IdentityError):
            Identity.from_der(wrong)


def test_fingerprints_are_values() -> None:
    name = Fingerprint(TEXT)
    assert str(name) == TEXT and name == Fingerprint(TEXT.upper().replace("-", ""))
    assert bytes(name) == b"abcdefghijklmnopqrst"
    assert len({name, Fingerprint(TEXT)}) == 1
    assert pickle.loads(pickle.dumps(name)) == name
    other = Identity.generate().fingerprint
    assert other != name and (other < name) != (name < other)
    assert Allowed.only([name]).allows(TEXT) and not Allowed.only([name]).allows(other)
    for wrong in ("", TEXT[:-1], TEXT.replace("m", "1")):
        with pytest.raises(FingerprintError):
            Fingerprint(wrong)


def test_statistics_count_what_was_sent() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            before = client.stats()
            assert len((await asyncio.gather(client.send_message(bytes(50_000)), server.recv_message()))) == 2
            await client.flushed()
            stats, theirs = client.stats(), server.stats()
            assert stats.sent.data - before.sent.data >= 50_000
            assert theirs.received.data >= 50_000
            assert stats.sent.datagrams > before.sent.datagrams
            assert stats.path.rtt > 0 and stats.path.min_rtt <= stats.path.rtt
            assert stats.dropped.total == 0
            assert len(stats.stalls.counts) == len(stats.stalls.BOUNDS) + 1
            with pytest.raises(AttributeError):
                stats.sent.data = 0  # type: ignore[misc]

    run(test)


def test_a_monitor_sees_all_connections_of_its_endpoints() -> None:
    monitor, other = Monitor(), Monitor()

    async def test() -> None:
        for round in (1, 2):
            async with pair(Config(monitor=monitor), Config(monitor=other)) as (client, server):
                await client.send_message(bytes(5000))
                await server.recv_message()
                await client.flushed()
                (seen,), (own,) = monitor.overview().open, other.overview().open
                assert seen.is_accepted and not own.is_accepted
                # The other monitor has seen two connections more in the first round.
                assert (seen.number, own.number) == (round - 1, 3 * (round - 1))
                assert (seen.peer, own.peer) == (server.peer, client.peer)
                assert own.remote_address == client.remote_address
                assert seen.application_protocol is None and 0 < seen.age < 30
                assert seen.stats.received.data == own.stats.sent.data == 5000
                assert [path.name for path in seen.paths] == ["path 1"] and seen.held >= 0
                assert own.packets.sent_bytes > 5000 and seen.packets.received > 0
                plain = [InsecureEndpoint.bind("127.0.0.1:0", Config(monitor=other)) for _ in range(2)]
                ends = await asyncio.gather(plain[0].connect(plain[1].local_address), plain[1].accept())
                more = other.overview().open[1:]
                assert sorted(one.is_accepted for one in more) == [False, True]
                assert len(ends) == 2 and {one.peer for one in more} == {None}
                for endpoint in plain:
                    endpoint.close()
                    await endpoint.wait_idle()
        after, theirs = monitor.overview(), other.overview()
        assert after.open == [] and theirs.open == []
        assert (after.connections, theirs.connections) == (2, 6)
        assert after.totals.received.data == 10_000 and after.totals.packets.received > 0

    run(test)


def test_a_connection_has_a_path_and_may_have_more() -> None:
    async def test() -> None:
        async with pair() as (client, server):
            (first,) = client.paths()
            assert first.name == "path 1" and not first.is_silent
            assert first.report is not None and first.report.cost == 0
            second = await client.add_path("127.0.0.1,cost=1")
            assert [path.name for path in client.paths()] == ["path 1", second]
            event = await client.path_event()
            assert (event.name, event.change) == (second, "opened")
            client.remove_path(second)
            with pytest.raises(PathError):
                client.remove_path(second)
            with pytest.raises(PathError):
                await server.add_path("127.0.0.1")
            with pytest.raises(ConfigError):
                await client.add_path("no path")

    run(test)


def test_each_connection_has_an_event_log(tmp_path: pathlib.Path) -> None:
    logs = EventLogs(tmp_path / "logs")
    assert logs.folder == tmp_path / "logs" and not logs.folder.exists()
    config = Config(event_logs=logs)

    async def test() -> None:
        async with pair(config, config) as (client, server):
            async with client:
                await client.send_message(bytes(50_000))
            assert len((await server.recv_message()).data) == 50_000

    run(test)
    logs.flush()
    files = sorted(logs.folder.iterdir())
    written: dict[str, int] = {}
    for file in files:
        assert file.suffix == ".sqlog" and stat.S_IMODE(file.stat().st_mode) == 0o600
        # A JSON text sequence (RFC 7464).
        head, *entries = (json.loads(record) for record in file.read_text().split("\x1e")[1:])
        assert [entry["name"] for entry in entries].count("weftline:closed") == 1
        sizes = [entry["data"]["bytes"] for entry in entries if entry["name"] == "weftline:written"]
        written[head["trace"]["vantage_point"]["type"]] = sum(sizes)
    assert written == {"client": 50_000, "server": 0} and len(files) == 2


def test_event_logs_that_cannot_be_written_are_refused(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BindError, match="event logs") as refused:
        InsecureEndpoint.bind("127.0.0.1:0", Config(event_logs=EventLogs(file)))
    assert refused.value.errno is not None
    with pytest.raises(ConfigError, match="1 MiB"):
        InsecureEndpoint.bind("127.0.0.1:0", Config(event_logs=EventLogs(tmp_path, 1000)))


def test_an_endpoint_serves_one_loop_after_the_other() -> None:
    server = InsecureEndpoint.bind("127.0.0.1:0")
    client = InsecureEndpoint.bind("127.0.0.1:0")

    async def connect() -> tuple[weftline.Connection, weftline.Connection]:
        connection = await client.connect(server.local_address)
        accepted = await server.accept()
        assert accepted is not None
        return connection, accepted

    ours, theirs = run(connect)

    async def talk() -> None:
        await ours.send_message(b"hello")
        assert (await theirs.recv_message()).data == b"hello"

    run(talk)
    run(talk)

    async def end() -> None:
        for endpoint in (server, client):
            endpoint.close()
            await endpoint.wait_idle()

    run(end)
