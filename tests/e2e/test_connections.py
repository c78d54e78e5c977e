"""An operator that uses short-lived client certificates, a proxy, and a gateway with its own certificate authority."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
import yaml

from certificates import Authority
from e2e.audited import CLIENTS, REPLICAS, Audited
from e2e.case import case_of
from e2e.clusters import eventually
from e2e.gateway import CALL_SECONDS, Gateway
from kubeconfigs import plugin, printing
from loops import loop_in_thread
from processes import moorage
from tls_peers import recording_proxy

pytestmark = [pytest.mark.controlplane, pytest.mark.slow, pytest.mark.tls]

NAME = "api.test"
USER = "short-lived"
LIFE_SECONDS = 8
T = TypeVar("T")
SHORTER_THAN_A_RESYNC = 20.0


class Run(Protocol):
    def __call__(self, coroutine: Coroutine[Any, Any, T]) -> T: ...


@contextmanager
def loop_in_a_thread() -> Iterator[Run]:
    """Yield a function that runs a coroutine in an event loop of another thread."""
    with loop_in_thread("proxy") as loop:
        yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(CALL_SECONDS)


def short_lived_certificates(authority: Path, directory: Path) -> dict[str, Any]:
    """Return a user for a kubeconfig. Its credential plugin issues certificates that expire after LIFE_SECONDS."""
    body = f"""
from datetime import datetime, timedelta, timezone
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from certificates import Authority
life = timedelta(seconds={LIFE_SECONDS})
expiry = (datetime.now(timezone.utc) + life).isoformat()
pair = Authority(pathlib.Path({str(authority)!r})).issue({USER!r}, life=life)
with open({str(directory / "runs")!r}, "a") as runs:
    print(expiry, file=runs)
"""
    status = "{{'clientCertificateData': pair.{}.read_text(), 'clientKeyData': pair.{}.read_text(), {}}}"
    printed = printing(status.format("certificate", "key", "'expirationTimestamp': expiry"))
    return plugin(directory, body + printed)


def test_certificates_of_a_plugin_are_renewed_before_they_expire(audited: Audited, tmp_path: Path) -> None:
    config = yaml.safe_load(audited.control_plane.kubeconfig_of(REPLICAS[0]).read_text())
    config["users"][0]["user"] = short_lived_certificates(audited.log.parent / CLIENTS, tmp_path)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    audited.cluster.kubectl("create", "clusterrolebinding", USER, "--clusterrole=cluster-admin", f"--user={USER}")
    with case_of(audited.cluster, "renewals") as case, moorage(path, tmp_path, audited.cluster.ports) as operator:
        case.make_live()
        until = time.monotonic() + 3 * LIFE_SECONDS
        bound = 0
        while time.monotonic() < until:
            case.cluster.apply(case.pod(f"p{bound}"))
            case.wait_until_bound(f"p{bound}")
            bound += 1
        case.make_live("-late")
        log = operator.log.read_text()
    assert len(audited.bindings("renewals-p", USER)) == bound
    assert 3 <= len((tmp_path / "runs").read_text().splitlines()) <= 3 * LIFE_SECONDS
    assert "(401)" not in log
    assert "Unauthorized" not in log
    assert not [line for line in log.splitlines() if " WARNING " in line and "has not answered" not in line]


def test_an_operator_behind_a_proxy_follows_a_new_authority(audited: Audited, tmp_path: Path) -> None:
    """The certificate authorities have no key identifiers. DNS cannot resolve the server's name."""
    config = yaml.safe_load(audited.control_plane.kubeconfig_of(REPLICAS[0]).read_text())
    cluster = config["clusters"][0]["cluster"]
    gateway = Gateway(cluster["server"], cluster["certificate-authority"])
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    with loop_in_a_thread() as run, case_of(audited.cluster, "connections") as case:
        port = run(gateway.start(old.server_context(old.issue("server", NAME))))
        opening = recording_proxy()
        proxy = run(opening.__aenter__())
        cluster |= {
            "server": f"https://{NAME}:{port}",
            "certificate-authority": str(old.file),
            "proxy-url": f"http://moorage:secret@127.0.0.1:{proxy.port}",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        with moorage(path, tmp_path, audited.cluster.ports) as operator:
            case.make_live("-before")
            run(gateway.stop())
            shutil.copy(new.file, old.file)
            run(gateway.start(new.server_context(new.issue("server", NAME)), port))
            case.cluster.apply(case.policy("-after"))
            eventually(lambda: case.is_live("-after"), SHORTER_THAN_A_RESYNC)
            log = operator.log.read_text()
        run(gateway.stop())
        run(opening.__aexit__(None, None, None))
    assert f"The API server is https://{NAME}:{port}, through the proxy http://127.0.0.1:{proxy.port} (" in log
    assert f"the credentials are from the context controlplane of the kubeconfig {path}" in log
    assert "secret" not in log
    assert {*proxy.targets, *proxy.users} == {f"{NAME}:{port}", "moorage:secret"}
