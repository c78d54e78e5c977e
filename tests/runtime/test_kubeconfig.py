"""The fields of a kubeconfig are used, or refused with an error that names the file and the field."""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakes import FakeClock
from kubeconfigs import EXEC_VERSION, kubeconfig
from moorage.errors import CredentialsError
from moorage.runtime.client.credentials import Credentials, load_credentials

PEM_TEXT = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
PEM = b64encode(PEM_TEXT).decode()
KEY = b64encode(b"-----BEGIN EC PRIVATE KEY-----\nMAUCAQEEAA==\n-----END EC PRIVATE KEY-----\n").decode()

LAUGHS = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 20)
)
"""Aliases that multiply to 9 to the power of 19 values."""


async def load(path: str, context: str | None = None) -> Credentials:
    return await load_credentials(path, FakeClock(), context=context, environ={})


async def header_of(folder: Path, user: dict[str, Any]) -> str | None:
    return await (await load(kubeconfig(folder, user))).tokens.current()


async def test_a_token_is_sent_to_a_server_over_plain_http(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "abc"}))
    assert found.server == "http://127.0.0.1:8001"
    assert await found.tokens.current() == "Bearer abc"
    assert found.tls is None


async def test_a_plugin_beside_a_kubeconfig_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = {"apiVersion": EXEC_VERSION, "kind": "ExecCredential", "status": {"token": "abc"}}
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    plugin.chmod(0o755)
    exec_config = {"apiVersion": EXEC_VERSION, "command": "./plugin", "interactiveMode": "Never"}
    monkeypatch.chdir(tmp_path)

    found = await load(Path(kubeconfig(tmp_path, {"exec": exec_config})).name)

    assert await found.tokens.current() == "Bearer abc"


async def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "abc"}), "there")
    assert found.server == "http://127.0.0.1:8002"


async def test_the_authority_the_server_name_and_the_proxy_of_a_cluster_are_used(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(PEM_TEXT)
    cluster = {
        "server": "https://10.0.0.1:6443",
        "certificate-authority": "ca.crt",
        "tls-server-name": "kubernetes.default",
        "proxy-url": "http://proxy:3128",
    }
    found = await load(kubeconfig(tmp_path, {"token": "abc"}, cluster))
    assert found.tls
    tls = found.tls()
    assert tls.authority
    assert (tls.authority.path, tls.verify) == (str(tmp_path / "ca.crt"), True)
    assert (found.tls_server_name, str(found.proxy and found.proxy.url)) == ("kubernetes.default", "http://proxy:3128/")


async def test_the_scheme_of_a_server_may_be_in_capitals(tmp_path: Path) -> None:
    assert (await load(kubeconfig(tmp_path, {"token": "a"}, {"server": "HTTPS://10.0.0.1:6443"}))).tls


async def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    cluster = {"server": "https://10.0.0.1:6443", "insecure-skip-tls-verify": True}
    found = await load(kubeconfig(tmp_path, {"token": "a"}, cluster))
    assert found.tls
    assert not found.tls().verify


async def test_a_token_file_is_preferred_to_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    password = {"username": "admin", "password": "pass"}
    assert await header_of(tmp_path, password) == "Basic YWRtaW46cGFzcw=="
    assert await header_of(tmp_path, {"token": "abc", "tokenFile": "token"}) == "Bearer from-file"
    assert await header_of(tmp_path, {"token": "abc", "tokenFile": "missing"}) == "Bearer abc"
    assert await header_of(tmp_path, {}) is None


async def test_impersonation_is_sent_in_headers(tmp_path: Path) -> None:
    user = {
        "token": "abc",
        "as": "jane",
        "as-uid": "17",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"example.com/reason": ["test"]},
    }
    assert list((await load(kubeconfig(tmp_path, user))).headers) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "17"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.com%2Freason", "test"),
    ]


async def test_the_first_of_several_files_is_preferred_and_missing_files_are_skipped(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path, {"token": "first"}, name="first")
    second = kubeconfig(tmp_path, {"token": "second"}, {"server": "http://other:1"}, name="second")
    (tmp_path / "empty").touch()
    found = await load(f"{tmp_path}/missing:{tmp_path}/empty:{first}:{second}")
    assert (found.server, await found.tokens.current()) == ("http://127.0.0.1:8001", "Bearer first")


async def test_entries_of_several_files_are_merged(tmp_path: Path) -> None:
    kubeconfig(tmp_path, {"token": "abc"})
    parts = yaml.safe_load((tmp_path / "config").read_text())
    for name in ("clusters", "users", "contexts"):
        (tmp_path / name).write_text(yaml.safe_dump({name: parts[name]}))
    (tmp_path / "current").write_text("current-context: there")
    found = await load(":".join(f"{tmp_path}/{name}" for name in ("clusters", "users", "contexts", "current")))
    assert found.server == "http://127.0.0.1:8002"


async def test_json_with_tabs_is_read(tmp_path: Path) -> None:
    kubeconfig(tmp_path, {"token": "abc"})
    path = tmp_path / "config"
    path.write_text(json.dumps(yaml.safe_load(path.read_text()), indent="\t"))
    assert await (await load(str(path))).tokens.current() == "Bearer abc"


async def test_nulls_are_treated_like_missing_fields(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "abc", "as": None, "exec": None, "as-groups": None}))
    assert await found.tokens.current() == "Bearer abc"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"- a\n", "must be a mapping"),
        (b"a: \xff\xfe\n", "is not UTF-8: invalid start byte at byte 3"),
        (b"a: [\n", "is not YAML: line 2: expected the node content, but found '<stream end>'$"),
        (b"a: &a [*a]\n", "has over 200000 values; do aliases multiply them"),
        (LAUGHS, "has over 200000 values; do aliases multiply them"),
        (b"[" * 2_000 + b"]" * 2_000, "must be a mapping|is nested too deeply|is not YAML"),
        (b"[" * 10_000, "is not YAML"),
        (b"kind: Config\n", "has no current-context"),
        (b"a: b\n---\nc: d\n", "holds 2 documents, of which only one is used; remove the others"),
        (b"current-context: x\n", "has no context 'x'; it has none"),
    ],
)
async def test_a_file_that_is_not_a_kubeconfig_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(CredentialsError, match=f"the kubeconfig {path} {message}"):
        await load(str(path))


@pytest.mark.parametrize("path", ["/dev/zero", "sparse"])
async def test_a_file_of_gigabytes_is_not_read(tmp_path: Path, path: str) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 36)
    with pytest.raises(CredentialsError, match="cannot be read: it is larger than 4194304 bytes"):
        await load(str(tmp_path / path))


async def test_a_folder_is_not_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=f"the kubeconfig {tmp_path} is a directory"):
        await load(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("clusters: 7", "clusters"),
        ("clusters: [c]", "clusters[0]"),
        ("clusters: [{cluster: {}}]", "clusters[0]"),
        ("clusters: {c: {}}", "clusters"),
        ("users: [{name: u, user: token}]", "users[0].user"),
        ("users: [{name: u, user: {token: 17}}]", "users[0].user.token"),
        ("users: [{name: u, user: {exec: {args: [1]}}}]", "users[0].user.exec.args[0]"),
        ("contexts: [{name: here, context: {cluster: [c]}}]", "contexts[0].context.cluster"),
    ],
)
async def test_a_value_of_the_wrong_type_is_named_by_its_field(tmp_path: Path, content: str, field: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(CredentialsError, match=re.escape(f"{field} of the kubeconfig {path} has the wrong type: ")):
        await load(str(path))


async def test_missing_and_repeated_entries_are_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    context = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
    for rest, message in (
        ("", r"contexts[x].context.cluster of the kubeconfig {} names 'c', but the clusters are none"),
        ("clusters: [{name: c}]", r"contexts[x].context.user of the kubeconfig {} names 'u', but the users are none"),
        ("clusters: [{name: c}, {name: c}]", r"clusters of the kubeconfig {} has 'c' twice; remove one"),
    ):
        path.write_text(context + rest)
        with pytest.raises(CredentialsError, match=re.escape(message.format(path))):
            await load(str(path))


@pytest.mark.parametrize("server", ["https://[::bad", "https://127.0.0.1:99999", "ftp://x", "", None])
async def test_a_server_that_is_not_an_address_is_named_by_its_field(tmp_path: Path, server: str | None) -> None:
    path = kubeconfig(tmp_path, {"token": "abc"}, {"server": server})
    with pytest.raises(CredentialsError) as caught:
        await load(path)
    assert str(caught.value).startswith(
        f"clusters[c].cluster.server of the kubeconfig {path} must be an address such as https://10.0.0.1:6443"
    )


@pytest.mark.parametrize(("data", "message"), [("&&", "is not base64"), ("aGVsbG8=", "holds no PEM")])
@pytest.mark.parametrize("field", ["certificate-authority-data", "client-certificate-data", "client-key-data"])
async def test_data_that_is_not_pem_is_named_by_its_field(tmp_path: Path, field: str, data: str, message: str) -> None:
    cluster, user = {"server": "https://10.0.0.1"}, {"client-certificate-data": PEM, "client-key-data": PEM}
    if field in user:
        path = kubeconfig(tmp_path, user | {field: data}, cluster)
    else:
        path = kubeconfig(tmp_path, user, cluster | {field: data})
    with pytest.raises(CredentialsError, match=f"{field} of the kubeconfig {path} {message}"):
        await load(path)


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"certificate-authority-data": PEM}, {}, "clusters[c].cluster.certificate-authority-data of the kubeconfig"),
        ({}, {"client-certificate-data": PEM, "client-key-data": KEY}, "users[u].user.client-certificate-data of the"),
    ],
)
async def test_a_certificate_that_openssl_rejects_is_named_by_its_field(
    tmp_path: Path, cluster: dict[str, str], user: dict[str, str], message: str
) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "a"} | user, {"server": "https://10.0.0.1"} | cluster))
    assert found.tls
    with pytest.raises(CredentialsError, match=re.escape(message)):
        found.tls().context(strict=True)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"auth-provider": {"name": "oidc"}}, "auth-provider of the kubeconfig {} is not supported; use exec"),
        ({"client-certificate-data": PEM}, "client-certificate of the kubeconfig {} and client-key must be set toget"),
        ({"as-groups": ["g"]}, "as-groups of the kubeconfig {} needs the field as; set it too"),
        ({"as": "a\nb"}, "as of the kubeconfig {} is 'a\\nb', which an HTTP header cannot contain"),
        ({"token": "a\nb"}, "token of the kubeconfig {} has characters that an HTTP header cannot contain"),
        ({"exec": {"command": "x"}}, "exec of the kubeconfig {} must set command and apiVersion"),
        (
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            "exec.apiVersion of the kubeconfig {} must be client.authentication.k8s.io/v1 or ",
        ),
        (
            {"exec": {"command": "x", "apiVersion": EXEC_VERSION, "interactiveMode": "Always"}},
            "exec.interactiveMode of the kubeconfig {} is Always, but moorage has no terminal",
        ),
        (
            {"exec": {"command": "x", "apiVersion": EXEC_VERSION}},
            "exec.interactiveMode of the kubeconfig {} must be Never or IfAvailable",
        ),
        ({"token": "a", "username": "b"}, "token of the kubeconfig {} and username are both set; remove one"),
        (
            {"client-key": "a", "client-key-data": "b", "client-certificate": "c"},
            "client-key of the kubeconfig {} and client-key-data are both set; remove one",
        ),
    ],
)
async def test_a_user_with_an_unsupported_field_is_refused_and_the_field_is_named(
    tmp_path: Path, user: dict[str, Any], message: str
) -> None:
    path = kubeconfig(tmp_path, user)
    with pytest.raises(CredentialsError, match=re.escape(f"users[u].user.{message.format(path)}")):
        await load(path)


async def test_a_proxy_that_is_not_http_is_refused_and_the_field_is_named(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {}, {"server": "https://10.0.0.1", "proxy-url": "socks5://proxy:1080"})
    with pytest.raises(
        CredentialsError, match=r"clusters\[c\]\.cluster\.proxy-url .* names a SOCKS proxy, which is not"
    ):
        await load(path)


async def test_a_user_without_credentials_is_refused(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"Token": "abc"}, {"server": "https://10.0.0.1"})
    with pytest.raises(CredentialsError, match=r"users\[u\]\.user of the kubeconfig .* has no credentials; set token"):
        await load(path)
