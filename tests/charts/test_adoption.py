"""`helm install` adopts a CRD that was applied by hand, on a real API server with Helm's own library."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.launcher import ControlPlane
from moorage.api.crd import NAME, render

helm = pytest.importorskip("helm_python", reason="no helm wheel for this platform")

pytestmark = pytest.mark.controlplane

CHART = Path(__file__).parents[2] / "charts" / "moorage"
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
RELEASE, NAMESPACE = "moorage", "moorage-system"
OWN = render(RELEASE, NAMESPACE)
TEXT, OLDER_TEXT = "The observed state of the policy.", "The text of an older version."


class Installation:
    """A cluster into which the chart is installed."""

    def __init__(self, kubeconfig: Path) -> None:
        self.environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self.config = helm.Config(kubeconfig_path=kubeconfig, namespace=NAMESPACE)

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        command = [str(KUBECTL), *arguments]
        done = subprocess.run(command, input=text, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self) -> None:
        self.config.install(helm.Chart.load(str(CHART)), RELEASE, create_namespace=True)

    def uninstall(self) -> None:
        self.config.uninstall(RELEASE)
        self.kubectl("delete", "crd", NAME)

    def crd(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", "crd", NAME, "--output=json", "--show-managed-fields"))
        return found

    def field_manager(self) -> str:
        """Return the field manager that Helm's library uses in this process.

        Helm uses the name of the running program. For the command `helm`, this is `helm`.
        """
        self.install()
        (manager,) = {
            entry["manager"] for entry in self.crd()["metadata"]["managedFields"] if entry["operation"] == "Apply"
        }
        self.uninstall()
        return str(manager)


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with ControlPlane() as control_plane:
        yield Installation(control_plane.kubeconfig)


@pytest.fixture
def cluster(installation: Installation) -> Iterator[Installation]:
    yield installation
    installation.kubectl("delete", "crd", NAME, "--ignore-not-found")


def test_helm_refuses_a_crd_that_it_does_not_own(cluster: Installation) -> None:
    cluster.kubectl("apply", "--filename=-", text=render())
    with pytest.raises(helm.HelmReleaseError, match="invalid ownership metadata"):
        cluster.install()


def test_helm_adopts_a_crd_with_its_ownership_metadata(cluster: Installation) -> None:
    manager = cluster.field_manager()
    older = OWN.replace(TEXT, OLDER_TEXT)
    assert older != OWN
    cluster.kubectl("apply", "--server-side", f"--field-manager={manager}", "--filename=-", text=older)

    cluster.install()

    schema = cluster.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["status"]["description"].startswith(TEXT)
    cluster.uninstall()


def test_the_documented_commands_let_helm_adopt_and_upgrade_a_crd_of_a_plain_apply(cluster: Installation) -> None:
    manager = cluster.field_manager()
    cluster.kubectl("apply", "--filename=-", text=render().replace(TEXT, OLDER_TEXT))
    cluster.kubectl(
        *("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}", "--filename=-"),
        text=OWN.replace(TEXT, OLDER_TEXT),
    )

    cluster.install()

    schema = cluster.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["status"]["description"].startswith(TEXT)
    cluster.uninstall()
