"""One test's objects: they all bear its name, and they go at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from e2e.clusters import Cluster, Manifest, as_text, eventually
from e2e.reader import Reader
from moorage.api.v1alpha1 import API_VERSION, KIND, PLURAL

LABEL = "case"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
POLICIES = f"/apis/{API_VERSION}/{PLURAL}"
SOON_SECONDS = 30.0
"""For what is promised at once: the machine may be busy, but no resync (60 s) and no flush (5 minutes) is over yet."""


@dataclass(frozen=True, slots=True)
class Case:
    """Makes objects named after the case, and looks at them with kubectl."""

    cluster: Cluster
    reader: Reader
    name: str

    def policy(self, suffix: str = "", **spec: Any) -> Manifest:
        """Make a policy."""
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": self._metadata(suffix), "spec": spec}

    def pod(
        self, suffix: str, *, metadata: Manifest | None = None, requests: Manifest | None = None, **spec: Any
    ) -> Manifest:
        """Make a pod of the case's policy."""
        container: Manifest = {"name": "pause", "image": "registry.k8s.io/pause:3.10"}
        if requests:
            extended = {name: amount for name, amount in requests.items() if "/" in name}
            container["resources"] = {"requests": requests, "limits": extended}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**self._metadata(f"-{suffix}"), **(metadata or {})},
            "spec": {
                "schedulerName": self.name,
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
                **spec,
            },
        }

    def node(self, suffix: str, *, labels: Manifest | None = None, **status: Any) -> Manifest:
        """Make a node; without a status it has no allocatable at all."""
        metadata = self._metadata(f"-{suffix}")
        metadata["labels"] |= labels or {}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}

    def here(self) -> Manifest:
        """Select the case's own nodes, as a pod's `nodeSelector`."""
        return {LABEL: self.name}

    def live(self, suffix: str = "", **spec: Any) -> None:
        """Apply a policy and wait until this very version is live."""
        self.cluster.apply(self.policy(suffix, **spec))
        eventually(lambda: self.is_live(suffix), SOON_SECONDS)

    def is_live(self, suffix: str = "") -> bool:
        """Whether the policy's last version is in force."""
        policy = self.get_policy(suffix)
        ready = self.conditions(policy).get("Ready", {})
        return bool(ready.get("status") == "True" and ready["observedGeneration"] == policy["metadata"]["generation"])

    def policy_conditions(self, suffix: str = "") -> dict[str, Manifest]:
        """Return a policy's conditions by type."""
        return self.conditions(self.get_policy(suffix))

    def get_policy(self, suffix: str = "") -> Manifest:
        """Return a policy."""
        found: Manifest = self.reader.read(f"{POLICIES}/{self.name}{suffix}")
        return found

    def pod_conditions(self, suffix: str) -> dict[str, Manifest]:
        """Return a pod's conditions by type."""
        return self.conditions(self.get_pod(suffix))

    def get_pod(self, suffix: str) -> Manifest:
        """Return a pod."""
        found: Manifest = self.reader.read(f"{PODS}/{self.name}-{suffix}")
        return found

    def node_of(self, suffix: str) -> str:
        """Return the node that a pod is bound to, empty for none."""
        return str(self.get_pod(suffix)["spec"].get("nodeName", ""))

    def bound(self, suffix: str, seconds: float = SOON_SECONDS) -> str:
        """Wait until a pod is bound, and return its node."""
        eventually(lambda: bool(self.node_of(suffix)), seconds)
        return self.node_of(suffix)

    def pods(self) -> list[Manifest]:
        """Return all pods of the case."""
        found: list[Manifest] = self.reader.read(f"{PODS}?labelSelector={LABEL}%3D{self.name}")["items"]
        return found

    def events(self) -> list[Manifest]:
        """Return all events, the case's among them."""
        found: list[Manifest] = self.reader.read(EVENTS)["items"]
        return found

    def notes(self, suffix: str, reason: str) -> list[str]:
        """Return what events of a reason tell of a pod."""
        about = (f"{self.name}-{suffix}", reason)
        return [event["note"] for event in self.events() if (event["regarding"]["name"], event["reason"]) == about]

    def told(self, suffix: str, reason: str, *, seconds: float = SOON_SECONDS) -> str:
        """Wait for an event about a pod, and return its note."""
        eventually(lambda: bool(self.notes(suffix, reason)), seconds)
        return self.notes(suffix, reason)[-1]

    @staticmethod
    def conditions(manifest: Manifest) -> dict[str, Manifest]:
        """Return an object's conditions by type."""
        return {each["type"]: each for each in manifest.get("status", {}).get("conditions", ())}

    def refused(self, *manifests: Manifest) -> str:
        """Apply what the API server must refuse, and return its words."""
        return self.cluster.refusal("apply", "--filename=-", text=as_text(*manifests))

    def _metadata(self, suffix: str) -> Manifest:
        return {"name": f"{self.name}{suffix}", "labels": {LABEL: self.name}}


@contextmanager
def case_of(cluster: Cluster, name: str) -> Iterator[Case]:
    """Give a case, and delete its objects at the end."""
    with closing(Reader(cluster.kubeconfig)) as reader:
        yield Case(cluster, reader, name)
    kinds = "schedulingpolicies,pods,nodes,poddisruptionbudgets,priorityclasses"
    cluster.kubectl("delete", kinds, f"--selector={LABEL}={name}", "--force", "--grace-period=0", "--wait=false")
