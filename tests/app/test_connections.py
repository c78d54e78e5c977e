"""The log lines about the connection to the API server."""

import logging
from pathlib import Path
from typing import Any

import pytest

from fakes import FakeClock
from kubeconfigs import kubeconfig
from moorage.app.connections import find_credentials
from moorage.settings import Settings


async def logged(caplog: pytest.LogCaptureFixture, path: str, environ: dict[str, str] | None = None) -> list[str]:
    caplog.set_level(logging.INFO)
    await find_credentials(Settings(kubeconfig=Path(path)), FakeClock(), environ or {})
    return caplog.messages


async def test_the_log_names_the_server_the_context_and_the_kubeconfig(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = kubeconfig(tmp_path, {"token": "a", "as": "jane"})
    (line,) = await logged(caplog, path)
    assert line == (
        "The API server is http://127.0.0.1:8001, without a proxy; "
        f"the credentials are from the context here of the kubeconfig {path}, impersonating jane"
    )


async def test_the_log_names_the_proxy_without_its_password(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = kubeconfig(tmp_path, {"token": "a"}, {"server": "https://10.0.0.1:6443"})
    (line,) = await logged(caplog, path, {"HTTPS_PROXY": "http://me:secret@10.0.0.2:3128"})
    assert line.startswith(
        "The API server is https://10.0.0.1:6443, through the proxy http://10.0.0.2:3128 ($HTTPS_PROXY); "
    )


@pytest.mark.parametrize(
    ("cluster", "warning"),
    [
        (
            {"server": "http://10.0.0.1:8080"},
            "The connection to http://10.0.0.1:8080 is not encrypted; use an address with https://",
        ),
        (
            {"server": "https://10.0.0.1", "insecure-skip-tls-verify": True},
            (
                "The certificate of https://10.0.0.1 is not verified, because insecure-skip-tls-verify is set; "
                "set certificate-authority instead"
            ),
        ),
    ],
)
async def test_an_insecure_connection_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cluster: dict[str, Any], warning: str
) -> None:
    _, line = await logged(caplog, kubeconfig(tmp_path, {"token": "a"}, cluster))
    assert line == warning
