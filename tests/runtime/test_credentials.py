import re
import stat
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes import FakeClock
from moorage.errors import CredentialsError
from moorage.runtime.client import credentials
from moorage.runtime.client.client_tls import tls_context
from moorage.runtime.client.credentials import Credentials, FileToken, load_credentials


def kubeconfig(folder: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, **context: str) -> str:
    path = folder / "config"
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "http://127.0.0.1:8001/"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", **context}},
            {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "far"}},
        ],
    }
    path.write_text(yaml.safe_dump(body))
    return str(path)


async def load(path: str | None, clock: FakeClock | None = None, **environ: str) -> Credentials:
    return await load_credentials(path, clock or FakeClock(), environ=environ)


async def test_a_token_and_the_namespace_of_the_context(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "abc"}, namespace="mine"))
    assert found.server == "http://127.0.0.1:8001"
    assert await found.tokens.current() == "Bearer abc"
    assert found.namespace == "mine"
    assert found.tls is None


async def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "abc"})
    found = await load_credentials(path, FakeClock(), context="there", environ={})
    assert found.namespace == "far"


async def test_https_with_authority_server_name_and_proxy(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_text("pem")
    cluster = {
        "server": "https://10.0.0.1:6443",
        "certificate-authority": str(authority),
        "tls-server-name": "kubernetes.default",
        "proxy-url": "http://proxy:3128",
    }
    found = await load(kubeconfig(tmp_path, {"token": "abc"}, cluster))
    assert found.tls
    assert (found.tls.ca_file, found.tls.verify) == (str(authority), True)
    assert (found.tls_server_name, found.proxy) == ("kubernetes.default", "http://proxy:3128")


async def test_the_environment_comes_after_the_flag_and_before_the_service_account(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "abc"})
    found = await load(None, KUBECONFIG=path, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert await found.tokens.current() == "Bearer abc"


async def test_the_home_folder_comes_last(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube", {"token": "abc"})
    found = await load(None, HOME=str(tmp_path))
    assert await found.tokens.current() == "Bearer abc"


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"KUBECONFIG": "/nowhere/config"}, "/nowhere/config does not exist"),
        ({"HOME": "/nowhere"}, "no API server is known"),
    ],
)
async def test_where_nothing_was_found_is_said(environ: dict[str, str], words: str) -> None:
    with pytest.raises(CredentialsError, match=words):
        await load_credentials(None, FakeClock(), environ=environ)


@pytest.mark.parametrize("text", ["{", "[]", "kind: Config\n", "a: b\ncurrent-context: x\ncontexts: []\nclusters: []"])
async def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=str(path)):
        await load(str(path))


@pytest.mark.parametrize(
    "server", ["https://[::bad", "https://127.0.0.1:99999", "ftp://x", "127.0.0.1", "127.0.0.1:6443", 17, "", None]
)
async def test_a_server_that_is_no_address_is_named_by_file_and_field(tmp_path: Path, server: object) -> None:
    path = kubeconfig(tmp_path, {"token": "abc"}, {"server": server})
    with pytest.raises(CredentialsError) as caught:
        await load(path)
    assert str(caught.value).startswith(
        f"clusters[].cluster.server of the kubeconfig {path} must be an address such as https://10.0.0.1:6443"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"- a\n", "must be a mapping"),
        (b"a: \xff\xfe\n", "is not UTF-8: invalid start byte at byte 3"),
        (b"a: [\n", "is not YAML"),
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_said_what_it_is(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(CredentialsError, match=f"the kubeconfig {path} {words}"):
        await load(str(path))


@pytest.mark.parametrize("clusters", ["7", "[c]", "[{cluster: {}}]", "{c: {}}"])
async def test_clusters_that_are_no_list_are_named(tmp_path: Path, clusters: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"clusters: {clusters}\n")
    with pytest.raises(CredentialsError, match=f"clusters of the kubeconfig {path} must be a list of mappings"):
        await load(str(path))


async def test_a_user_that_is_no_mapping_is_named(tmp_path: Path) -> None:
    user: Any = "token"
    with pytest.raises(CredentialsError, match=r"user of the kubeconfig .* must be a mapping"):
        await load(kubeconfig(tmp_path, user))


async def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=f"the kubeconfig {tmp_path} is a directory"):
        await load(str(tmp_path))


PEM = b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").decode()


@pytest.mark.parametrize(
    ("data", "words"), [("&&", "must be base64"), (17, "must be base64"), ("aGVsbG8=", "must be PEM in base64")]
)
@pytest.mark.parametrize("field", ["certificate-authority-data", "client-certificate-data", "client-key-data"])
async def test_data_that_is_no_certificate_is_named(tmp_path: Path, field: str, data: object, words: str) -> None:
    cluster, user = {"server": "https://10.0.0.1"}, {"token": "abc"}
    if field in {"client-certificate-data", "client-key-data"}:
        path = kubeconfig(tmp_path, user | {field: data}, cluster)
    else:
        path = kubeconfig(tmp_path, user, cluster | {field: data})
    with pytest.raises(CredentialsError, match=f"{field} of the kubeconfig {path} {words}"):
        await load(path)


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"certificate-authority-data": PEM}, {}, "authority clusters[].cluster.certificate-authority-data of"),
        ({}, {"client-certificate-data": PEM, "client-key-data": PEM}, "certificate users[].user.client-certificate-d"),
    ],
)
async def test_what_openssl_does_not_take_is_named_by_its_field(
    tmp_path: Path, cluster: dict[str, str], user: dict[str, str], words: str
) -> None:
    found = await load(kubeconfig(tmp_path, user, {"server": "https://10.0.0.1"} | cluster))
    assert found.tls
    with pytest.raises(CredentialsError, match=re.escape(words)):
        tls_context(found.tls, strict=True)


async def test_a_token_file_of_a_kubeconfig_is_read_again_each_minute(tmp_path: Path) -> None:
    token, clock = tmp_path / "token", FakeClock()
    token.write_text("first\n")
    found = await load(kubeconfig(tmp_path, {"tokenFile": str(token)}), clock)
    token.write_text("second\n")
    assert await found.tokens.current() == "Bearer first"
    clock.now += 61
    assert await found.tokens.current() == "Bearer second"


async def test_after_a_401_the_kubeconfig_is_read_again_at_once(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "old"}))
    kubeconfig(tmp_path, {"token": "new"})
    assert await found.tokens.current() == "Bearer old"
    assert await found.tokens.renew() == "Bearer new"
    (tmp_path / "config").unlink()
    assert await found.tokens.renew() == "Bearer new"


def plugin(folder: Path, body: str) -> dict[str, Any]:
    """A credential plugin: a Python script."""
    script = folder / "plugin"
    script.write_text(f"#!{sys.executable}\nimport json, sys, pathlib\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


async def test_a_plugins_token_is_used_until_shortly_before_it_expires(tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    clock = FakeClock(1_900_000_000.0)  # 2030-03-17T17:46:40Z
    user = plugin(
        tmp_path,
        f"path = pathlib.Path({str(count)!r}); number = int(path.read_text()) + 1; path.write_text(str(number))\n"
        "status = {'token': f't{number}', 'expirationTimestamp': '2030-03-17T18:46:40Z'}\n"
        "version = 'client.authentication.k8s.io/v1'\n"
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': version, 'status': status}))",
    )
    found = await load(kubeconfig(tmp_path, user), clock)
    clock.now += 57 * 60
    assert await found.tokens.current() == "Bearer t1"
    clock.now += 2 * 60
    assert await found.tokens.current() == "Bearer t2"


async def test_a_failing_plugin_ends_the_start_with_its_own_words(tmp_path: Path) -> None:
    user = plugin(tmp_path, "sys.exit('log in first: aws sso login')")
    with pytest.raises(CredentialsError, match="aws sso login"):
        await load(kubeconfig(tmp_path, user))


async def test_the_service_account_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("token", "abc"), ("ca.crt", "pem"), ("namespace", "moorage-system")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path)
    found = await load(None, KUBERNETES_SERVICE_HOST="fd00::1", KUBERNETES_SERVICE_PORT="443")
    assert found.server == "https://[fd00::1]:443"
    assert found.namespace == "moorage-system"
    assert await found.tokens.current() == "Bearer abc"
    assert found.tls
    assert found.tls.ca_file == str(tmp_path / "ca.crt")


async def test_a_service_account_without_a_token_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", tmp_path)
    with pytest.raises(CredentialsError, match="token file does not exist"):
        await load(None, KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="443")


async def test_a_projected_token_is_read_again_each_minute_and_at_once_after_a_401(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", FakeClock()
    path.write_text("one")
    token = FileToken(path, clock)
    assert await token.current() == "Bearer one"
    path.write_text("two")
    assert await token.current() == "Bearer one"
    assert await token.renew() == "Bearer two"
    path.write_text("three")
    clock.now += 60
    assert await token.current() == "Bearer three"


async def test_a_token_file_that_vanishes_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", FakeClock()
    token = FileToken(path, clock)
    with pytest.raises(CredentialsError, match=str(path)):
        await token.current()
    path.write_text("one")
    assert await token.current() == "Bearer one"
    path.unlink()
    assert await token.renew() == "Bearer one"
