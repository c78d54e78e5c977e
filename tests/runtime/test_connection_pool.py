"""The connection pool with a peer that sends the bytes of a script as answers, valid or invalid."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fakes import FakeClock, StaticTokens, settle, until
from moorage.errors import ApiUnreachable, NotLeader
from moorage.runtime.client.connection_pool import ConnectionPool
from moorage.runtime.client.credentials import Credentials
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.server_access import ServerAccess
from moorage.runtime.client.transport import AnswerLimits, LongAnswer
from moorage.runtime.tls.pem import Pem
from moorage.runtime.tls.tls_contexts import ClientTls

pytestmark = pytest.mark.tls

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LIMITS = AnswerLimits(answer_bytes=1000, refusal_bytes=100)
CLOSE = b""
"""An item of a script that closes the connection instead of answering."""


class Peer:
    """Answers each request with the next bytes of the script."""

    def __init__(self, script: Sequence[bytes]) -> None:
        self.script = list(script)
        self.connections = 0
        self.requests: list[bytes] = []
        self.server: asyncio.Server
        self._serving: set[asyncio.Task[None] | None] = set()

    async def start(self, tls: ssl.SSLContext | None = None) -> int:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        return int(self.server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop, and wait until every connection has ended. First the client must close its connections."""
        self.server.close()
        await self.server.wait_closed()
        await asyncio.gather(*(task for task in self._serving if task))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._serving.add(asyncio.current_task())
        try:
            while self.script:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")), 0
                )
                self.requests.append(head + await reader.readexactly(length))
                answer = self.script.pop(0)
                if answer == CLOSE:
                    break
                for piece in answer.split(b"|"):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)  # lets the client read the piece
                if not answer.startswith(b"HTTP/1.1") or b"half" in answer or b"until " in answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def pool_to(*script: bytes) -> AsyncIterator[tuple[ConnectionPool, Peer]]:
    peer = Peer(script)
    server = f"http://127.0.0.1:{await peer.start()}/base"
    pool = ConnectionPool(server, [("User-Agent", "test")])
    pool.limits = LIMITS
    try:
        yield pool, peer
    finally:
        await pool.close()
        await peer.stop()


async def exchange(pool: ConnectionPool, method: str = "POST", path: str = "/x", timeout_seconds: float = 30) -> bytes:
    body = b"{}" if method == "POST" else b""
    return (await pool.exchange(method, path, "X: y\r\n", body, timeout_seconds)).body


async def test_a_request_has_all_headers_and_a_path_below_the_servers_path() -> None:
    async with pool_to(OK) as (pool, peer):
        assert await exchange(pool) == b"ok"
    head, _, body = peer.requests[0].partition(b"\r\n\r\n")
    first, *fields = head.decode().split("\r\n")
    assert first == "POST /base/x HTTP/1.1"
    assert fields[0].startswith("Host: 127.0.0.1:")
    assert fields[1:] == ["User-Agent: test", "X: y", "Content-Length: 2"]
    assert body == b"{}"


async def test_sequential_requests_share_a_connection_and_simultaneous_requests_do_not() -> None:
    async with pool_to(*[OK] * 6) as (pool, peer):
        for _ in range(3):
            await exchange(pool)
        assert peer.connections == 1
        await asyncio.gather(*(exchange(pool) for _ in range(3)))
        assert peer.connections == 3


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r|\n3\r\ntwo\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-|Length: 6\r\n\r\non|etwo",
        b"HTTP/1.1 100 Continue\r\n\r\n|HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonetwo",
    ],
    ids=["chunked", "in-pieces", "after-100-continue"],
)
async def test_answers_with_any_kind_of_framing_are_read(answer: bytes) -> None:
    async with pool_to(answer, OK) as (pool, _):
        assert await exchange(pool) == b"onetwo"
        assert await exchange(pool) == b"ok"


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async with pool_to(b"HTTP/1.1 200 OK\r\n\r\nuntil |the end", OK) as (pool, peer):
        assert await exchange(pool) == b"until the end"
        assert await exchange(pool) == b"ok"
        assert peer.connections == 2


async def test_a_connection_with_connection_close_is_not_used_again() -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    async with pool_to(closing, OK) as (pool, peer):
        await exchange(pool)
        await exchange(pool)
        assert peer.connections == 2


@pytest.mark.parametrize(
    "answer",
    [CLOSE, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", b"<html>nonsense</html>\r\n\r\n"],
    ids=["closed", "half-a-body", "not-http"],
)
async def test_a_write_with_a_broken_answer_is_an_error_and_is_not_repeated(answer: bytes) -> None:
    async with pool_to(OK, answer, OK) as (pool, peer):
        await exchange(pool)
        with pytest.raises(ConnectionError):
            await exchange(pool)
        assert len(peer.requests) == 2
        assert await exchange(pool) == b"ok"


async def test_a_read_is_repeated_on_a_new_connection_if_the_server_closed_the_idle_connection() -> None:
    async with pool_to(OK, CLOSE, OK) as (pool, peer):
        await exchange(pool, "GET")
        assert await exchange(pool, "GET") == b"ok"
        assert peer.connections == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("framing", [b"Content-Length: 2000", b"X: until the connection ends"])
async def test_a_long_answer_is_not_read_to_its_end(method: str, framing: bytes) -> None:
    long = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n" + b"|".join([b"x" * 200] * 10)
    async with pool_to(OK, long, OK) as (pool, peer):
        await exchange(pool, method)
        with pytest.raises(LongAnswer, match="the answer is longer than 1000 bytes"):
            await exchange(pool, method)
        assert await exchange(pool, method) == b"ok"
        assert len(peer.requests) == 3


async def test_a_long_refusal_is_cut() -> None:
    long = b"HTTP/1.1 500 Oops\r\nContent-Length: 100000\r\n\r\n" + b"|".join([b"x" * 60] * 10)
    async with pool_to(long, OK) as (pool, _):
        answer = await pool.exchange("POST", "/x", "", b"{}", 5)
        assert answer.status == 500
        assert set(answer.body) == set(b"x")
        assert 100 < len(answer.body) < 1000
        assert await exchange(pool) == b"ok"


async def test_a_timeout_closes_the_connection() -> None:
    async with pool_to(b"HTTP/1.1 ", OK) as (pool, peer):
        with pytest.raises(TimeoutError):
            await exchange(pool, timeout_seconds=0.5)
        assert await exchange(pool) == b"ok"
        assert peer.connections == 2


async def test_a_second_answer_to_one_request_closes_the_connection() -> None:
    async with pool_to(OK + OK, OK) as (pool, peer):
        assert await exchange(pool) == b"ok"
        assert await exchange(pool) == b"ok"
        assert peer.connections == 2


@pytest.mark.parametrize("path", ["/x HTTP/1.1\r\nEvil: yes", "/x\n", "/a b"])
async def test_a_path_cannot_end_the_request_line(path: str) -> None:
    async with pool_to(OK) as (pool, peer):
        with pytest.raises(ValueError, match="not a path"):
            await exchange(pool, path=path)
        assert not peer.connections


# -- TLS --------------------------------------------------------------------------------------------------------------

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed authority for localhost without key identifiers, like the authorities of some clouds."""
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:kubernetes.test",
        ],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


async def exchange_over_tls(settings: ClientTls, certificates: Path, server_name: str | None) -> int:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    peer = Peer([OK, OK])
    port = await peer.start(context)
    credentials = Credentials(
        f"https://127.0.0.1:{port}", StaticTokens("Bearer t"), tls=lambda: settings, tls_server_name=server_name
    )
    try:
        async with open_transport(ServerAccess(credentials, FakeClock()), 2) as transport:
            answer = await transport.exchange("GET", "/x", b"", "application/json", 5)
            assert {read.status async for read in transport.stream("/x", 5)} == {answer.status}
    finally:
        await peer.stop()
    return answer.status


@needs_openssl
async def test_tls_verifies_the_authority_and_the_server_name_of_the_credentials(certificates: Path) -> None:
    settings = ClientTls(authority=Pem("ca", path=str(certificates / "cert.pem")))
    assert await exchange_over_tls(settings, certificates, "kubernetes.test") == 200


@needs_openssl
async def test_a_certificate_for_another_name_is_refused(certificates: Path) -> None:
    settings = ClientTls(authority=Pem("ca", path=str(certificates / "cert.pem")))
    with pytest.raises(ApiUnreachable, match="certificate"):
        await exchange_over_tls(settings, certificates, None)


@needs_openssl
async def test_verification_can_be_switched_off(certificates: Path) -> None:
    assert await exchange_over_tls(ClientTls(verify=False), certificates, None) == 200


async def test_a_write_is_not_sent_if_leadership_ends_while_its_connection_opens() -> None:
    peer, may_write = Peer([OK, OK]), True
    port = await peer.start()

    def tls_is_read() -> ssl.SSLContext | None:
        nonlocal may_write
        may_write = may_write and peer.connections > 0  # leadership ends during the first connection
        return None

    pool = ConnectionPool(f"http://127.0.0.1:{port}", (), tls_is_read, None, lambda: may_write)
    with pytest.raises(NotLeader):
        await exchange(pool)
    assert peer.requests == []
    assert await exchange(pool, "GET") == b"ok"
    may_write = True
    assert await exchange(pool) == b"ok"
    assert peer.connections == 1
    await pool.close()
    await peer.stop()


async def test_a_write_is_not_sent_if_leadership_ends_while_its_token_is_renewed() -> None:
    peer = Peer([b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", OK])
    may_write = True

    class RenewedTokens(StaticTokens):
        async def renew(self) -> None:
            nonlocal may_write
            may_write = False
            self._header = "Bearer new"

    credentials = Credentials(f"http://127.0.0.1:{await peer.start()}", RenewedTokens("Bearer old"))
    async with open_transport(ServerAccess(credentials, FakeClock()), 1, lambda: may_write) as transport:
        with pytest.raises(NotLeader):
            await transport.exchange("POST", "/x", b"{}", "application/json", 5)
    assert len(peer.requests) == 1
    await peer.stop()


async def test_a_write_without_an_answer_is_withdrawn_when_leadership_ends() -> None:
    """The server gets a reset, because a stalled network could deliver the rest of the write under another leader."""
    connected, frozen, received = asyncio.Event(), asyncio.Event(), 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        connected.set()
        await frozen.wait()
        try:
            while piece := await reader.read(1 << 20):
                received += len(piece)
        except ConnectionError:
            received = -received
        finally:
            writer.close()

    server, may_write = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 10), True
    pool = ConnectionPool(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", (), may_write=lambda: may_write)
    body = b"x" * (16 << 20)
    writing = asyncio.create_task(pool.exchange("POST", "/x", "", body, 30))
    await connected.wait()
    await settle()
    pool.writes.check()
    assert not writing.done()
    may_write = False
    pool.writes.check()
    with pytest.raises(ConnectionError, match="not the leader any more"):
        await writing
    await pool.close()
    frozen.set()
    server.close()
    await server.wait_closed()
    await until(lambda: received < 0)
    assert -received < len(body)
