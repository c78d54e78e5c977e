"""The search for credentials, and the service account of a pod."""

from pathlib import Path

import pytest

from fakes import FakeClock
from kubeconfigs import kubeconfig
from moorage.errors import CredentialsError
from moorage.runtime.client.credentials import Credentials, load_credentials


async def load(path: str | None, **environ: str) -> Credentials:
    return await load_credentials(path, FakeClock(), environ=environ)


async def test_the_flag_comes_first_then_the_environment_then_the_service_account(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "abc"})
    found = await load(None, KUBECONFIG=path, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert await found.tokens.current() == "Bearer abc"
    flag = kubeconfig(tmp_path, {"token": "flag"}, name="flag")
    assert await (await load(flag, KUBECONFIG=path)).tokens.current() == "Bearer flag"


async def test_the_kubeconfig_in_the_home_folder_is_used_last(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube", {"token": "abc"})
    found = await load(None, HOME=str(tmp_path))
    assert await found.tokens.current() == "Bearer abc"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"KUBECONFIG": "/nowhere/config"}, "/nowhere/config does not exist"),
        ({"HOME": "/nowhere"}, "no API server is known"),
    ],
)
async def test_missing_credentials_are_an_error_that_names_the_places(environ: dict[str, str], message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        await load_credentials(None, FakeClock(), environ=environ)


async def in_pod(folder: Path, **environ: str) -> Credentials:
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"} | environ
    return await load_credentials(None, FakeClock(), environ=variables, service_account=folder)


CA = "-----BEGIN CERTIFICATE-----\n"


async def test_credentials_in_a_pod_come_from_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "ca.crt").write_text(CA)
    found = await in_pod(tmp_path)
    assert found.server == "https://[fd00::1]:443"
    assert (await in_pod(tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1")).server == "https://10.0.0.1:443"
    assert await found.tokens.current() == "Bearer abc"
    assert found.tls
    authority = found.tls().authority
    assert authority
    assert authority.path == str(tmp_path / "ca.crt")


async def test_the_error_names_the_missing_file_of_a_service_account(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"names .*/ca\.crt, which cannot be read: No such file"):
        await in_pod(tmp_path)
    (tmp_path / "ca.crt").write_text(CA)
    with pytest.raises(CredentialsError, match=f"token file {tmp_path}/token cannot be read: No such file"):
        await in_pod(tmp_path)
    (tmp_path / "token").write_text("")
    with pytest.raises(CredentialsError, match=f"token file {tmp_path}/token is empty"):
        await in_pod(tmp_path)
    with pytest.raises(CredentialsError, match="KUBERNETES_SERVICE_PORT"):
        await in_pod(tmp_path, KUBERNETES_SERVICE_PORT="")
