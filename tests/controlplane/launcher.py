"""Runs a real control plane for tests and benchmarks: etcd, kube-apiserver and, on demand, other programs.

All programs listen on loopback and keep their files in a temporary folder. The end of the block stops the programs and
removes the folder:

    with ControlPlane() as control_plane:
        control_plane.kubectl("apply", "-f", "-", input=manifest)
        control_plane.start_scheduler()

There is no kubelet: nodes are only objects (`objects.py`), bound pods stay Pending, and deleting a pod needs
`--grace-period=0`. Several control planes can run side by side.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane.access import Users
from controlplane.build import Binaries
from controlplane.component import POLL_SECONDS, Component, ControlPlaneError, Endpoint
from controlplane.ports import LOOPBACK, Ports
from controlplane.programs import (
    WORKLOAD_CONTROLLERS,
    apiserver_flags,
    controller_manager_flags,
    delegation_flags,
    etcd_flags,
    scheduler_configuration,
    serving_flags,
)

ADMIN = "admin"
CLUSTER_ADMINS = "system:masters"
SCHEDULER_USER = "system:kube-scheduler"
"""The user of kube-scheduler. RBAC's bootstrap policy grants it exactly the permissions of kube-scheduler."""
KUBECTL_TIMEOUT_SECONDS = 60.0


class ControlPlane:
    """etcd and kube-apiserver of one cluster. They run between `__enter__` and `__exit__`.

    `more_apiserver_flags` override the launcher's flags, because they come later in the command line.
    """

    def __init__(self, *, more_apiserver_flags: Sequence[str] = (), binaries: Binaries | None = None) -> None:
        self._binaries = binaries or Binaries()
        self._temporary = tempfile.TemporaryDirectory(prefix="moorage-controlplane-")
        self.directory = Path(self._temporary.name)
        self._ports = Ports()
        self.server = self._free_url("https")
        self.ca_file = self._certificates("kube-apiserver") / "apiserver.crt"
        self._users = Users(self.directory / "users", self.server, self.ca_file)
        self.token = self.add_user(ADMIN, CLUSTER_ADMINS)
        self.add_user(SCHEDULER_USER)
        self.etcd = self._etcd()
        self.apiserver = self._apiserver(more_apiserver_flags)
        self._others: list[Component] = []

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            self.start_apiserver()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a cluster admin."""
        return self.kubeconfig_of(ADMIN)

    def kubeconfig_of(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self._users.kubeconfig(user)

    def add_user(self, name: str, *groups: str) -> str:
        """Add a user and return its token. Call this before the block, because the API server reads users at startup.

        In a running control plane, `kubectl create token` creates a token of a service account.
        """
        self._users.add(name, *groups)
        return self._users.tokens[name]

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 - the name in subprocess.run
        user: str = ADMIN,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as `user` with `input` as standard input. With `check`, raise ControlPlaneError on failure."""
        command = [str(self._binaries.path("kubectl")), "--kubeconfig", str(self.kubeconfig_of(user)), *arguments]
        result = subprocess.run(
            command,
            input=input,
            env={**os.environ, "HOME": str(self.directory)},  # Hide the developer's cache and kuberc.
            capture_output=True,
            text=True,
            timeout=KUBECTL_TIMEOUT_SECONDS,
            check=False,
        )
        if check and result.returncode != 0:
            raise ControlPlaneError(f"kubectl {' '.join(arguments)}: {result.stderr.strip()}")
        return result

    def install(self, definition: str) -> None:
        """Create a CustomResourceDefinition, and return when the API server serves its objects."""
        self.kubectl("apply", "-f", "-", input=definition)
        wait = ("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        deadline = time.monotonic() + KUBECTL_TIMEOUT_SECONDS
        # `kubectl wait` fails while the API server has not written the conditions.
        while self.kubectl(*wait, check=False).returncode != 0 and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        self.kubectl(*wait)

    def start_apiserver(self) -> None:
        """Start the API server. After `stop_apiserver`, a new start keeps the address and the data."""
        self.apiserver.start()

    def stop_apiserver(self) -> None:
        """Stop the API server; etcd keeps the data. To crash or freeze it, use `Component.kill` and `.pause`."""
        self.apiserver.stop()

    def start_scheduler(self, config: Mapping[str, object] | None = None) -> Component:
        """Start kube-scheduler with a KubeSchedulerConfiguration. The launcher adds its own fields."""
        kubeconfig = self.kubeconfig_of(SCHEDULER_USER)
        file = self.directory / "kube-scheduler.config"
        file.write_text(json.dumps(scheduler_configuration(config or {}, kubeconfig)))
        return self._start(self._secured("kube-scheduler", [f"--config={file}", *delegation_flags(kubeconfig)]))

    def start_controller_manager(self, controllers: Sequence[str] = WORKLOAD_CONTROLLERS) -> Component:
        """Start kube-controller-manager with the named controllers, as a cluster admin."""
        flags = [f"--kubeconfig={self.kubeconfig}", *delegation_flags(self.kubeconfig)]
        return self._start(
            self._secured("kube-controller-manager", [*flags, *controller_manager_flags(tuple(controllers))])
        )

    def start_extender(self) -> Component:
        """Start the extender of `go/cmd/extender`. The `endpoint.url` of the result is the urlPrefix to configure."""
        url = self._free_url("http")
        flags = [f"--address={url.removeprefix('http://')}", f"--kubeconfig={self.kubeconfig}"]
        return self._start(self._component("extender", flags, Endpoint(url, ("/healthz",))))

    def _etcd(self) -> Component:
        url = self._free_url("http")
        return self._component("etcd", etcd_flags(self.directory / "etcd", url), Endpoint(url, ("/health",)))

    def _apiserver(self, more_flags: Sequence[str]) -> Component:
        certificates = self._certificates("kube-apiserver")
        # The API server creates its serving certificate before it reads other keys, so this key can sign tokens too.
        key = certificates / "apiserver.key"
        flags = [
            *apiserver_flags(self.etcd.endpoint.url, self._users.token_file),
            *serving_flags(self.server, certificates),
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            *more_flags,
        ]
        # The API server creates the namespace `default` a moment after it is ready.
        ready_paths = ("/readyz", "/api/v1/namespaces/default")
        return self._component("kube-apiserver", flags, Endpoint(self.server, ready_paths, self.ca_file, self.token))

    def _secured(self, name: str, flags: Sequence[str]) -> Component:
        url, certificates = self._free_url("https"), self._certificates(name)
        endpoint = Endpoint(url, ("/healthz",), certificates / f"{name}.crt", self.token)
        return self._component(name, [*flags, *serving_flags(url, certificates)], endpoint)

    def _free_url(self, scheme: str) -> str:
        return f"{scheme}://{LOOPBACK}:{self._ports.take()}"

    def _certificates(self, name: str) -> Path:
        return self.directory / name

    def _component(self, name: str, flags: Sequence[str], endpoint: Endpoint) -> Component:
        return Component([self._binaries.path(name), *flags], self.directory / f"{name}.log", endpoint)

    def _start(self, component: Component) -> Component:
        self._others.append(component)
        component.start()
        return component

    def _end(self) -> None:
        for component in (*reversed(self._others), self.apiserver, self.etcd):
            component.stop()
        self._ports.close()
        self._temporary.cleanup()
