"""TLS, proxies and changing credentials of the connection to the API server, tested with every client."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from certificates import Authority, KeyPair
from fakes import FakeClock
from kubeconfigs import kubeconfig, plugin, printing
from loops import loop_in_thread
from moorage.errors import ApiUnreachable
from moorage.runtime.client.credentials import load_credentials
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.server_access import AccessAcrossThreads, ServerAccess
from moorage.runtime.client.session_transport import open_session
from tls_peers import RecordingServer, recording_proxy, recording_server

pytestmark = pytest.mark.tls

NAME = "api.test"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
async def server(authority: Authority) -> AsyncIterator[RecordingServer]:
    async with recording_server(authority.server_context(authority.issue("server", NAME))) as made:
        yield made


def cluster(authority: Authority, address: RecordingServer, **fields: Any) -> dict[str, Any]:
    return {"server": address.url, "certificate-authority": str(authority.file), "tls-server-name": NAME, **fields}


async def access_to(
    path: str, clock: FakeClock, environ: dict[str, str] | None = None, *, strict: bool = False
) -> ServerAccess:
    return ServerAccess(await load_credentials(path, clock, environ=environ or {}), clock, strict=strict)


async def statuses(access: ServerAccess) -> list[int]:
    """Return the statuses of three requests: over the pool, as a stream, and over kopf's session in another thread."""
    async with open_transport(access, 4) as transport:
        first = await transport.exchange("GET", "/pool", b"", "", 5)
        streamed = [read.status async for read in transport.stream("/stream", 5)]
    async with foreign_session(access) as get:
        return [first.status, streamed[0], await get("/kopf")]


@asynccontextmanager
async def foreign_session(access: ServerAccess) -> AsyncIterator[Callable[[str], Any]]:
    """Open a session in the event loop of another thread, as kopf does; yield a function that sends a GET."""
    across = AccessAcrossThreads(access, asyncio.get_running_loop())

    async def opened() -> Any:
        return open_session(across, 2)

    with loop_in_thread("kopf") as loop:
        session = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(opened(), loop))

        async def send(path: str) -> int:
            async with session.get(f"{access.credentials.server}{path}") as answer:
                status: int = answer.status
                return status

        async def get(path: str) -> int:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(send(path), loop))

        try:
            yield get
        finally:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(session.close(), loop))


async def test_an_authority_without_key_identifiers_is_trusted(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, cluster(authority, server))
    assert await statuses(await access_to(path, FakeClock())) == [200] * 3


async def test_strict_verification_refuses_an_authority_without_key_identifiers(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    path = kubeconfig(tmp_path, {"token": "t"}, cluster(authority, server))
    with pytest.raises(ApiUnreachable, match="Missing Authority Key Identifier"):
        await statuses(await access_to(path, FakeClock(), strict=True))


async def test_every_client_goes_through_the_proxy_with_its_user(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    async with recording_proxy() as proxy:
        url = f"http://j%C3%BCrg:p%40ss@127.0.0.1:{proxy.port}"
        path = kubeconfig(tmp_path, {"token": "t"}, cluster(authority, server, **{"proxy-url": url}))
        access = await access_to(path, FakeClock())
        assert await statuses(access) == [200] * 3
        assert str(access.credentials.proxy).startswith(f"http://127.0.0.1:{proxy.port} (clusters[c].cluster.proxy-url")
    assert set(proxy.targets) == {f"127.0.0.1:{server.port}"}
    assert set(proxy.users) == {"jürg:p@ss"}
    assert {request.path for request in server.seen} == {"/pool", "/stream", "/kopf"}


async def test_an_https_proxy_is_verified_in_the_same_way_as_the_server(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    tls = authority.server_context(authority.issue("proxy", "127.0.0.1"))
    async with recording_proxy(tls) as proxy:
        environ = {"HTTPS_PROXY": f"https://127.0.0.1:{proxy.port}"}
        fields = {"server": f"https://{NAME}:{server.port}"}
        path = kubeconfig(tmp_path, {"token": "t"}, cluster(authority, server, **fields))
        assert await statuses(await access_to(path, FakeClock(), environ)) == [200] * 3
        strict = await access_to(path, FakeClock(), environ, strict=True)
        with pytest.raises(ApiUnreachable, match="Missing Authority Key Identifier"):
            await statuses(strict)
    assert set(proxy.targets) == {f"{NAME}:{server.port}"}


async def test_a_proxy_that_refuses_is_named_without_its_password(authority: Authority, tmp_path: Path) -> None:
    fields = {"server": f"https://{NAME}:6443", "certificate-authority": str(authority.file)}
    path = kubeconfig(tmp_path, {"token": "t"}, fields)
    access = await access_to(path, FakeClock(), {"HTTPS_PROXY": "http://me:secret@127.0.0.1:9"})
    async with open_transport(access, 1) as transport:
        with pytest.raises(ApiUnreachable) as caught:
            await transport.exchange("GET", "/x", b"", "", 5)
    assert "secret" not in str(caught.value)
    assert "127.0.0.1:9" in str(caught.value)


async def test_a_replaced_authority_is_used_at_the_next_request(tmp_path: Path) -> None:
    clock = FakeClock()
    old = Authority(tmp_path / "old")
    async with recording_server(old.server_context(old.issue("server", NAME))) as server:
        path = kubeconfig(tmp_path, {"token": "t"}, cluster(old, server))
        access = await access_to(path, clock)
        assert await statuses(access) == [200] * 3
    new = Authority(tmp_path / "new")
    shutil.copy(new.file, old.file)
    clock.now += 2
    async with recording_server(new.server_context(new.issue("server", NAME)), server.port):
        assert await statuses(access) == [200] * 3


async def test_each_client_finds_a_replaced_authority_by_itself(tmp_path: Path) -> None:
    """kopf's open session must find the new authority without another client's help."""
    clock, old, new = FakeClock(), Authority(tmp_path / "old"), Authority(tmp_path / "new")
    async with recording_server(old.server_context(old.issue("server", NAME))) as server:
        fields = cluster(old, server)
        fields = {**fields, "certificate-authority": None, "certificate-authority-data": old.data}
        access = await access_to(kubeconfig(tmp_path, {"token": "t"}, fields), clock)
        async with foreign_session(access) as get:
            assert await get("/before") == 200
            fields = {**fields, "certificate-authority-data": new.data}
            kubeconfig(tmp_path, {"token": "t"}, fields)
            clock.now += 2
            await server.stop()
            async with recording_server(new.server_context(new.issue("server", NAME)), server.port):
                assert await get("/after") == 200


def certificate_plugin(folder: Path, *pairs: KeyPair, expiry: str = "") -> dict[str, Any]:
    """Return a plugin that gives the certificates one after the other, and then always the last one."""
    files = [(str(pair.certificate), str(pair.key)) for pair in pairs]
    body = (
        f"path = pathlib.Path({str(folder / 'runs')!r})\n"
        "number = int(path.read_text()) if path.exists() else 0\n"
        "path.write_text(str(number + 1))\n"
        f"files = {files!r}\n"
        "certificate, key = (pathlib.Path(one).read_text() for one in files[min(number, len(files) - 1)])\n"
    )
    expires = f", 'expirationTimestamp': {expiry!r}" if expiry else ""
    return plugin(folder, body + printing(f"{{'clientCertificateData': certificate, 'clientKeyData': key{expires}}}"))


async def test_a_refused_certificate_is_renewed_and_its_connections_are_not_used_again(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    clock = FakeClock()
    user = certificate_plugin(tmp_path, authority.issue("alice"), authority.issue("bob"))
    access = await access_to(kubeconfig(tmp_path, user, cluster(authority, server)), clock)
    async with open_transport(access, 4) as transport, foreign_session(access) as get:
        assert (await transport.exchange("POST", "/first", b"{}", "", 5)).status == 200
        assert await get("/first") == 200
        server.accepts = lambda request: request.user == "bob"
        assert (await transport.exchange("POST", "/second", b"{}", "", 5)).status == 200
        assert await get("/second") == 200
    assert [request.user for request in server.seen] == ["alice", "alice", "alice", "bob", "bob"]
    assert (tmp_path / "runs").read_text() == "2"


async def test_a_certificate_is_renewed_before_it_expires(
    authority: Authority, server: RecordingServer, tmp_path: Path
) -> None:
    clock = FakeClock(1_900_000_000.0)  # 2030-03-17T17:46:40Z
    pairs = [authority.issue(name) for name in ("alice", "bob")]
    user = certificate_plugin(tmp_path, *pairs, expiry="2030-03-17T17:48:20Z")
    access = await access_to(kubeconfig(tmp_path, user, cluster(authority, server)), clock)
    async with open_transport(access, 4) as transport:
        for seconds in (0, 70, 10):
            clock.now += seconds
            assert (await transport.exchange("POST", "/x", b"{}", "", 5)).status == 200
    assert [request.user for request in server.seen] == ["alice", "alice", "bob"]
