"""Credentials of a kubeconfig that change, expire or break while the process runs."""

import asyncio
import json
import logging
import os
from base64 import b64decode
from pathlib import Path

import pytest

from fakes import FakeClock
from kubeconfigs import EXEC_VERSION, kubeconfig, plugin, printing
from moorage.errors import CredentialsError
from moorage.runtime.client.authentication import REREAD_SECONDS
from moorage.runtime.client.credentials import Credentials, load_credentials
from moorage.runtime.client.kubeconfig_tokens import KubeconfigTokens

START = 1_900_000_000.0  # 2030-03-17T17:46:40Z
IN_AN_HOUR = "2030-03-17T18:46:40Z"
CLUSTER = {"server": "https://10.0.0.1:6443"}


async def load(path: str, clock: FakeClock | None = None) -> Credentials:
    return await load_credentials(path, clock or FakeClock(), environ={})


async def load_tokens(path: str, clock: FakeClock, patience_seconds: float) -> KubeconfigTokens:
    tokens = KubeconfigTokens([Path(path)], None, clock, patience_seconds)
    await tokens.load()
    return tokens


def counting(count: Path) -> str:
    """Return the lines of a plugin that counts its runs in the file `number`."""
    count.write_text("0")
    return f"path = pathlib.Path({str(count)!r}); number = int(path.read_text()) + 1; path.write_text(str(number))\n"


def replace_in(file: Path, *replacements: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in replacements:
        text = text.replace(old, new)
    file.write_text(text)


async def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    token, clock = tmp_path / "token", FakeClock()
    token.write_text("first\n")
    found = await load(kubeconfig(tmp_path, {"tokenFile": str(token)}), clock)
    token.write_text("second\n")
    assert await found.tokens.current() == "Bearer first"
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer second"


async def test_after_a_401_the_kubeconfig_is_read_again_at_once(tmp_path: Path) -> None:
    found = await load(kubeconfig(tmp_path, {"token": "old"}))
    kubeconfig(tmp_path, {"token": "new"})
    assert await found.tokens.current() == "Bearer old"
    await found.tokens.renew()
    assert await found.tokens.current() == "Bearer new"


async def test_a_replaced_kubeconfig_is_read_within_a_minute(tmp_path: Path) -> None:
    clock = FakeClock()
    found = await load(kubeconfig(tmp_path, {"token": "old"}), clock)
    kubeconfig(tmp_path, {"token": "newer"})
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer newer"


@pytest.mark.parametrize("content", [None, "", "clusters: [", "users: 7", "current-context: nowhere"])
async def test_a_broken_kubeconfig_leaves_the_last_credentials_in_use_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    caplog.set_level(logging.INFO)
    clock = FakeClock()
    found = await load(kubeconfig(tmp_path, {"token": "old"}), clock)
    path = tmp_path / "config"
    path.unlink()
    if content is not None:
        path.write_text(content)
    for _ in range(3):
        clock.now += REREAD_SECONDS
        assert await found.tokens.current() == "Bearer old"
        await found.tokens.renew()
        assert await found.tokens.current() == "Bearer old"
    kubeconfig(tmp_path, {"token": "new"})
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer new"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert caplog.messages[0].startswith(f"The kubeconfig {path} cannot be used; its last good state stays in use")


async def test_an_empty_token_file_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    token, clock = tmp_path / "token", FakeClock()
    token.write_text("first")
    found = await load(kubeconfig(tmp_path, {"tokenFile": str(token)}), clock)
    token.write_text("")
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer first"


async def test_a_plugins_token_is_used_until_shortly_before_it_expires(tmp_path: Path) -> None:
    clock = FakeClock(START)
    status = f"{{'token': f't{{number}}', 'expirationTimestamp': {IN_AN_HOUR!r}}}"
    user = plugin(tmp_path, counting(tmp_path / "count") + printing(status))
    tokens = await load_tokens(kubeconfig(tmp_path, user), clock, patience_seconds=60)
    clock.now += 57 * 60
    assert await tokens.current() == "Bearer t1"
    clock.now += 2 * 60
    assert await tokens.current() == "Bearer t2"


async def test_a_plugins_certificate_is_replaced_before_it_expires(tmp_path: Path) -> None:
    clock = FakeClock(START)
    pem = "-----BEGIN CERTIFICATE-----"
    status = (
        f"{{'clientCertificateData': {pem!r} + str(number), 'clientKeyData': {pem!r}, "
        f"'expirationTimestamp': {IN_AN_HOUR!r}}}"
    )
    user = plugin(tmp_path, counting(tmp_path / "count") + printing(status))
    tokens = await load_tokens(kubeconfig(tmp_path, user, CLUSTER), clock, patience_seconds=60)
    certificates = []
    for _ in range(2):
        assert await tokens.current() is None
        certificate = tokens.tls().certificate
        assert certificate
        certificates.append(b64decode(certificate.data or "").decode())
        clock.now += 59 * 60
    assert certificates == [f"{pem}1", f"{pem}2"]


async def test_a_slow_plugin_does_not_delay_requests_while_the_last_token_works(tmp_path: Path) -> None:
    clock, gate = FakeClock(START), tmp_path / "gate"
    os.mkfifo(gate)
    status = f"{{'token': f't{{number}}', 'expirationTimestamp': {IN_AN_HOUR!r}}}"
    wait = f"number == 1 or pathlib.Path({str(gate)!r}).read_text()\n"
    user = plugin(tmp_path, counting(tmp_path / "count") + wait + printing(status))
    tokens = await load_tokens(kubeconfig(tmp_path, user), clock, patience_seconds=0.05)
    clock.now += 59 * 60
    assert await tokens.current() == "Bearer t1"
    assert await tokens.current() == "Bearer t1"
    await asyncio.to_thread(gate.write_text, "go")
    async with asyncio.timeout(30):
        while await tokens.current() != "Bearer t2":  # noqa: ASYNC110 - another process answers
            await asyncio.sleep(0.01)


async def test_many_refused_requests_run_the_plugin_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    user = plugin(tmp_path, counting(count) + printing("{'token': f't{number}'}"))
    found = await load(kubeconfig(tmp_path, user))
    await asyncio.gather(*(found.tokens.renew() for _ in range(5)))
    assert await found.tokens.current() == "Bearer t2"
    assert count.read_text() == "2"


async def test_a_plugin_gets_the_cluster_if_provide_cluster_info_is_set(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "prod", "scope": None}}
    body = f"pathlib.Path({str(seen)!r}).write_text(os.environ['KUBERNETES_EXEC_INFO'])\n" + printing("{'token': 't'}")
    await load(
        kubeconfig(tmp_path, plugin(tmp_path, body, provideClusterInfo=True), CLUSTER | {"extensions": [extension]})
    )
    spec = json.loads(seen.read_text())["spec"]
    assert spec == {"interactive": False, "cluster": CLUSTER | {"config": {"audience": "prod", "scope": None}}}


async def test_a_failing_plugin_ends_the_start_with_its_message(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, plugin(tmp_path, "sys.exit('log in first: aws sso login')"))
    with pytest.raises(CredentialsError, match=rf"users\[u\]\.user\.exec of the kubeconfig {path}: .*aws sso login"):
        await load(path)


async def test_the_install_hint_of_a_missing_plugin_is_shown(tmp_path: Path) -> None:
    user = {
        "exec": {
            "apiVersion": EXEC_VERSION,
            "command": "no-such-plugin",
            "interactiveMode": "Never",
            "installHint": "Install it from example.com.",
        }
    }
    with pytest.raises(CredentialsError, match=r"cannot be run: .*; Install it from example\.com\.$"):
        await load(kubeconfig(tmp_path, user))


async def test_a_plugin_whose_credentials_are_refused_runs_with_growing_pauses(tmp_path: Path) -> None:
    clock, count = FakeClock(START), tmp_path / "count"
    user = plugin(tmp_path, counting(count) + printing("{'token': f't{number}'}"))
    tokens = await load_tokens(kubeconfig(tmp_path, user), clock, patience_seconds=60)
    for _ in range(120):
        await tokens.renew()
        clock.now += 0.5
    assert int(count.read_text()) == 1 + 6


async def test_a_plugin_that_gives_expired_credentials_runs_with_growing_pauses(tmp_path: Path) -> None:
    clock, count = FakeClock(START), tmp_path / "count"
    status = "{'token': f't{number}', 'expirationTimestamp': '2020-01-01T00:00:00Z'}"
    user = plugin(tmp_path, counting(count) + printing(status))
    tokens = await load_tokens(kubeconfig(tmp_path, user), clock, patience_seconds=60)
    for _ in range(120):
        await tokens.current()
        clock.now += 0.5
    assert int(count.read_text()) == 1 + 6


async def test_short_lived_credentials_are_renewed_after_three_quarters_of_their_life(tmp_path: Path) -> None:
    clock, count = FakeClock(START), tmp_path / "count"
    status = (
        "{'token': f't{number}', "
        f"'expirationTimestamp': datetime.datetime.fromtimestamp({int(START)} + 10 * number, datetime.UTC)"
        ".isoformat()}"
    )
    user = plugin(tmp_path, "import datetime\n" + counting(count) + printing(status))
    tokens = await load_tokens(kubeconfig(tmp_path, user), clock, patience_seconds=60)
    for _ in range(100):
        number = int((await tokens.current() or "").removeprefix("Bearer t"))
        assert clock.now < START + 10 * number
        clock.now += 1
    assert int(count.read_text()) <= 14


async def test_credentials_for_another_server_are_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    found = await load(kubeconfig(tmp_path, {"token": "old"}), clock)
    kubeconfig(tmp_path, {"token": "new-server"}, {"server": "http://127.0.0.1:9999"})
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer old"
    assert caplog.messages[0].endswith("has changed; restart moorage to use it")


async def test_a_changed_current_context_does_not_change_the_context_in_use(tmp_path: Path) -> None:
    clock = FakeClock()
    path = kubeconfig(tmp_path, {"token": "old"})
    found = await load(path, clock)
    replace_in(Path(path), ("current-context: here", "current-context: there"), ("old", "new"))
    clock.now += REREAD_SECONDS
    assert await found.tokens.current() == "Bearer new"
    assert found.source.startswith("the context here of the kubeconfig")
