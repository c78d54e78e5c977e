"""Unusual kubeconfigs: kubectl and moorage find the same server and user in a file, or both refuse the file."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from certificates import Authority, KeyPair
from controlplane.build import Binaries
from fakes import FakeClock
from kubeconfigs import EXEC_VERSION
from moorage.errors import MoorageError
from moorage.runtime.client.credentials import load_credentials
from moorage.runtime.client.pooled_transport import open_transport
from moorage.runtime.client.server_access import ServerAccess
from tls_peers import RecordingServer, recording_server

pytestmark = [pytest.mark.controlplane, pytest.mark.tls]

PLUGIN = """#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "plugged"}}'
"""
EXEC = {"apiVersion": EXEC_VERSION, "command": "./plugin", "interactiveMode": "Never"}


@dataclass(frozen=True)
class Place:
    """A folder with certificates and a plugin, and the server that accepts them."""

    folder: Path
    authority: Authority
    alice: KeyPair
    bob: KeyPair
    server: RecordingServer
    cluster: dict[str, Any] = field(default_factory=dict)

    def config(self, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "clusters": [{"name": "c", "cluster": self.cluster | (cluster or {})}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        }

    def write(self, text: str | bytes, name: str = "config") -> Path:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture(scope="module")
def certificates(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Authority, KeyPair, KeyPair, KeyPair]:
    folder = tmp_path_factory.mktemp("kubectl")
    authority = Authority(folder)
    (folder / "token").write_text("from-file\n")
    (folder / "plugin").write_text(PLUGIN)
    (folder / "plugin").chmod(0o700)
    server = authority.issue("server", "127.0.0.1", "localhost", "api.test")
    return folder, authority, server, authority.issue("alice"), authority.issue("bob")


@pytest.fixture
async def place(certificates: tuple[Path, Authority, KeyPair, KeyPair, KeyPair]) -> AsyncIterator[Place]:
    folder, authority, pair, alice, bob = certificates
    async with recording_server(authority.server_context(pair)) as server:
        cluster = {"server": server.url, "certificate-authority": "kubernetes.crt"}
        yield Place(folder, authority, alice, bob, server, cluster)


async def seen_by_kubectl(place: Place, path: str) -> Any:
    return await _seen(place, lambda: _run_kubectl(path))


async def _seen(place: Place, send: Any) -> Any:
    place.server.seen.clear()
    place.server.server_names.clear()
    await send()
    if not place.server.seen:
        return "refused"
    request = place.server.seen[0]
    extra = tuple((name.lower(), value) for name, value in request.impersonation)
    return request.path.partition("?")[0], request.authorization, extra, request.user, place.server.server_names[0]


async def _run_kubectl(paths: str) -> None:
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": paths, "HOME": "/nonexistent"}
    process = await asyncio.create_subprocess_exec(
        str(Binaries().path("kubectl")), "--request-timeout=5s", "get", "--raw", "/probe",
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    await process.wait()


async def seen_from_moorage(place: Place, paths: str) -> Any:
    async def send() -> None:
        clock = FakeClock()
        try:
            credentials = await load_credentials(None, clock, environ={"KUBECONFIG": paths})
            async with open_transport(ServerAccess(credentials, clock), 2) as transport:
                await transport.exchange("GET", "/probe", b"", "", 5)
        except MoorageError:
            pass

    return await _seen(place, send)


async def assert_same(place: Place, paths: str) -> Any:
    expected = await seen_by_kubectl(place, paths)
    assert await seen_from_moorage(place, paths) == expected
    return expected


USERS: dict[str, dict[str, Any]] = {
    "a token": {"token": "abc"},
    "a token file": {"tokenFile": "token"},
    "a token file and a token": {"tokenFile": "token", "token": "abc"},
    "a missing token file and a token": {"tokenFile": "missing", "token": "abc"},
    "a missing token file": {"tokenFile": "missing"},
    "a number as a token": {"token": 17},
    "a password": {"username": "jürg", "password": "pä:ss"},
    "a user without a password": {"username": "jane"},
    "a token and a password": {"token": "abc", "username": "a", "password": "b"},
    "a token file and a password": {"tokenFile": "token", "username": "a", "password": "b"},
    "a certificate": {"client-certificate": "alice.crt", "client-key": "alice.key"},
    "a certificate and a token": {"client-certificate": "alice.crt", "client-key": "alice.key", "token": "abc"},
    "a certificate with another's key": {"client-certificate": "alice.crt", "client-key": "bob.key"},
    "a certificate without a key": {"client-certificate": "alice.crt"},
    "a key without a certificate": {"client-key": "alice.key"},
    "an impersonated user": {
        "token": "abc", "as": "jane", "as-groups": ["b", "a"], "as-uid": "1", "as-user-extra": {"X/y z": ["v", "w"]},
    },
    "an impersonated user with other letters": {
        "token": "abc", "as": "jürg 山", "as-groups": ["größe"], "as-user-extra": {"größe": ["ä", ""], "tab": ["a\tb"]},
    },
    "an impersonated user with spaces": {"token": "abc", "as": " jane "},
    "an impersonated user with a line feed": {"token": "abc", "as": "jane\nX: y"},
    "an impersonated user with a NUL": {"token": "abc", "as": "jane\0"},
    "impersonated groups without a user": {"token": "abc", "as-groups": ["a"]},
    "a plugin": {"exec": EXEC},
    "a plugin with nulls": {"exec": EXEC | {"env": None, "args": None, "installHint": None}},
    "a plugin and a token": {"token": "abc", "exec": EXEC},
    "a plugin and a token file": {"tokenFile": "token", "exec": EXEC},
    "a plugin and a password": {"username": "a", "password": "b", "exec": EXEC},
    "a plugin and a certificate": {"client-certificate": "alice.crt", "client-key": "alice.key", "exec": EXEC},
    "a plugin without a mode": {"exec": {"apiVersion": EXEC_VERSION, "command": "./plugin"}},
    "a plugin of a removed version": {"exec": EXEC | {"apiVersion": "client.authentication.k8s.io/v1alpha1"}},
    "a plugin that prompts": {"exec": EXEC | {"interactiveMode": "Always"}},
    "a plugin with a nameless variable": {"exec": EXEC | {"env": [{"value": "x"}]}},
    "an auth provider": {"auth-provider": {"name": "gcp"}},
    "a field in another case": {"Token": "abc"},
    "no credentials": {},
}  # fmt: skip


@pytest.mark.parametrize("name", USERS)
async def test_moorage_reads_users_like_kubectl(place: Place, name: str) -> None:
    await assert_same(place, str(place.write(json.dumps(place.config(USERS[name])))))


CLUSTERS: dict[str, dict[str, Any]] = {
    "a server name": {"tls-server-name": "api.test"},
    "another's server name": {"tls-server-name": "other.test"},
    "a missing authority": {"certificate-authority": "missing.crt"},
    "an authority that is no certificate": {"certificate-authority": "token"},
    "an unverified server with an authority": {"insecure-skip-tls-verify": True},
    "an unverified server": {"insecure-skip-tls-verify": True, "certificate-authority": None},
    "a string for a boolean": {"insecure-skip-tls-verify": "true", "certificate-authority": None},
    "the system's authorities": {"certificate-authority": None},
    "empty data": {"certificate-authority-data": ""},
    "data that is not base64": {"certificate-authority-data": "&&"},
    "a file and data": {"certificate-authority-data": "aGVsbG8="},
    "no compression": {"disable-compression": True},
    "a proxy of another kind": {"proxy-url": "ftp://127.0.0.1:1"},
    "a proxy without a scheme": {"proxy-url": "127.0.0.1:1"},
    "no server": {"server": ""},
}


@pytest.mark.parametrize("name", CLUSTERS)
async def test_moorage_reads_clusters_like_kubectl(place: Place, name: str) -> None:
    await assert_same(place, str(place.write(json.dumps(place.config({"token": "abc"}, CLUSTERS[name])))))


@pytest.mark.parametrize("form", ["{}/base/", "{}/base?x=1#y", "{}/", "HTTPS{}"])
async def test_moorage_reads_server_addresses_like_kubectl(place: Place, form: str) -> None:
    url = form.format(place.server.url.removeprefix("https") if form.startswith("HTTPS") else place.server.url)
    found = await assert_same(place, str(place.write(json.dumps(place.config({"token": "abc"}, {"server": url})))))
    assert found != "refused"


TEXTS: dict[str, Callable[[str], str | bytes]] = {
    "JSON with tabs": lambda text: json.dumps(yaml.safe_load(text), indent="\t"),
    "a trailing document": lambda text: f"{text}---\n",
    "a leading marker": lambda text: f"---\n{text}",
    "a byte order mark": lambda text: f"\ufeff{text}",
    "UTF-16": lambda text: text.encode("utf-16"),
    "CR LF": lambda text: text.replace("\n", "\r\n"),
    "a merge key": lambda text: f"a: &a {{as: jane}}\n{text.replace('token: abc', '<<: *a, token: abc')}",
    "a date": lambda text: text.replace("abc", "2024-01-01"),
    "a repeated key": lambda text: f"{text}current-context: x\n",
    "unknown fields": lambda text: f"{text}1: 2\ncolour: red\npreferences: {{colors: true}}\n",
    "another kind": lambda text: text.replace("kind: Config", "kind: Pod"),
    "another version": lambda text: text.replace("apiVersion: v1", "apiVersion: v2"),
    "neither kind nor version": lambda text: text.replace("kind: Config\n", "").replace("apiVersion: v1\n", ""),
    "a repeated user": lambda text: text.replace("users:\n", "users:\n- {name: u, user: {token: other}}\n"),
    "a template": lambda text: text.replace("abc", "{{ .Values.token }}"),
    "no current context": lambda text: text.replace("current-context: x", "current-context: ''"),
    "an unknown context": lambda text: text.replace("current-context: x", "current-context: other"),
    "no contexts": lambda text: text.partition("contexts:")[0] + "contexts: null\n" + text.partition("current-")[2],
    "an empty text": lambda _: "",
}


@pytest.mark.parametrize("name", TEXTS)
async def test_moorage_reads_texts_like_kubectl(place: Place, name: str) -> None:
    text = yaml.safe_dump(place.config({"token": "abc"}), default_flow_style=None)
    await assert_same(place, str(place.write(TEXTS[name](text))))


async def test_moorage_reads_lists_of_files_like_kubectl(place: Place) -> None:
    whole = place.config({"token": "first"})
    first = place.write(json.dumps(whole), "first")
    second = place.write(json.dumps(place.config({"token": "second", "as": "jane"})), "second")
    empty = place.write("", "empty")
    parts = [place.write(json.dumps({name: whole[name]}), name) for name in ("clusters", "users", "contexts")]
    current = place.write("current-context: x", "current")
    for files in ([first, second], [second, first], [empty, "/missing", first], [*parts, current], [current, *parts]):
        assert await assert_same(place, ":".join(map(str, files))) != "refused"
