"""Connections that end with their event loop, even if a peer does not finish the TLS shutdown."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from certificates import Authority
from loops import loop_in_thread, run

WAIT_SECONDS = 10.0
UNFINISHED_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"
"""A client that leaves this answer unread closes the connection instead of keeping it for other requests."""


class SilentPeer:
    """A server of one TLS connection. It sends an unfinished answer and never answers the client's close_notify."""

    def __init__(self, context: ssl.SSLContext, listener: socket.socket) -> None:
        self.url = f"https://localhost:{listener.getsockname()[1]}"
        self.was_disconnected = Future[bool]()
        self._context = context
        self._listener = listener

    def serve(self) -> None:
        """Answer one request, and wait until the client closes its socket."""
        accepted, _ = self._listener.accept()
        accepted.settimeout(WAIT_SECONDS)
        with self._context.wrap_socket(accepted, server_side=True) as secured:
            secured.recv(1 << 16)
            secured.sendall(UNFINISHED_ANSWER)
            with suppress(ConnectionError):
                secured.recv(1 << 16)  # ends at the close_notify
            with socket.socket(fileno=secured.detach()) as plain:
                plain.settimeout(WAIT_SECONDS)
                try:
                    self.was_disconnected.set_result(plain.recv(1) == b"")
                except ConnectionError:
                    self.was_disconnected.set_result(True)
                except TimeoutError:
                    self.was_disconnected.set_result(False)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def peer(authority: Authority) -> Iterator[SilentPeer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = SilentPeer(authority.server_context(authority.issue("peer", "localhost")), listener)
        thread = threading.Thread(target=made.serve)
        thread.start()
        yield made
        thread.join()


async def leave_an_answer_unread(url: str, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as response:
        assert response.status == 200


def in_a_thread(coroutine: Coroutine[None, None, None]) -> None:
    with loop_in_thread("client") as loop:
        asyncio.run_coroutine_threadsafe(coroutine, loop).result(WAIT_SECONDS)


@pytest.mark.parametrize("run_to_the_end", [run, in_a_thread])
def test_a_connection_that_its_client_closed_ends_with_the_loop(
    run_to_the_end: Callable[[Coroutine[None, None, None]], None], peer: SilentPeer, authority: Authority
) -> None:
    run_to_the_end(leave_an_answer_unread(peer.url, authority))
    assert peer.was_disconnected.result(2 * WAIT_SECONDS)
