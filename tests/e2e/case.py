"""A case: the objects of one test. Their names start with the case's name, and the end of the test deletes them."""

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
"""The limit for immediate reactions. A busy machine meets it, but a resync (60 s) or flush (5 minutes) is later."""


@dataclass(frozen=True, slots=True)
class Case:
    """The name of a case. Its methods build objects with this name, and read them from the API server."""

    cluster: Cluster
    reader: Reader
    name: str

    def policy(self, suffix: str = "", **spec: Any) -> Manifest:
        """Return a policy."""
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": self._metadata(suffix), "spec": spec}

    def pod(
        self, suffix: str, *, metadata: Manifest | None = None, requests: Manifest | None = None, **spec: Any
    ) -> Manifest:
        """Return a pod that the case's policy schedules."""
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
        """Return a node. Without `status`, the node has no allocatable resources."""
        metadata = self._metadata(f"-{suffix}")
        metadata["labels"] |= labels or {}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}

    def labels(self) -> Manifest:
        """Return the label of the case's objects; as a `nodeSelector` it selects the case's nodes."""
        return {LABEL: self.name}

    def make_live(self, suffix: str = "", **spec: Any) -> None:
        """Apply a policy, and wait until the applied version is live."""
        self.cluster.apply(self.policy(suffix, **spec))
        eventually(lambda: self.is_live(suffix), SOON_SECONDS)

    def is_live(self, suffix: str = "") -> bool:
        """Return whether the policy's latest version is live."""
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
        """Return the name of a pod's node; empty if the pod is not bound."""
        return str(self.get_pod(suffix)["spec"].get("nodeName", ""))

    def wait_until_bound(self, suffix: str, seconds: float = SOON_SECONDS) -> str:
        """Wait until a pod is bound, and return the name of its node."""
        eventually(lambda: bool(self.node_of(suffix)), seconds)
        return self.node_of(suffix)

    def pods(self) -> list[Manifest]:
        """Return all pods of the case."""
        found: list[Manifest] = self.reader.read(f"{PODS}?labelSelector={LABEL}%3D{self.name}")["items"]
        return found

    def events(self) -> list[Manifest]:
        """Return all events of the namespace."""
        found: list[Manifest] = self.reader.read(EVENTS)["items"]
        return found

    def notes(self, suffix: str, reason: str) -> list[str]:
        """Return the notes of a pod's events with this reason."""
        about = (f"{self.name}-{suffix}", reason)
        return [event["note"] for event in self.events() if (event["regarding"]["name"], event["reason"]) == about]

    def wait_for_event(self, suffix: str, reason: str, *, seconds: float = SOON_SECONDS) -> str:
        """Wait for a pod's event with this reason, and return its note."""
        eventually(lambda: bool(self.notes(suffix, reason)), seconds)
        return self.notes(suffix, reason)[-1]

    @staticmethod
    def conditions(manifest: Manifest) -> dict[str, Manifest]:
        """Return an object's conditions by type."""
        return {each["type"]: each for each in manifest.get("status", {}).get("conditions", ())}

    def refusal_of(self, *manifests: Manifest) -> str:
        """Apply objects that the API server must refuse. Return the server's message."""
        return self.cluster.refusal("apply", "--filename=-", text=as_text(*manifests))

    def _metadata(self, suffix: str) -> Manifest:
        return {"name": f"{self.name}{suffix}", "labels": {LABEL: self.name}}


@contextmanager
def case_of(cluster: Cluster, name: str) -> Iterator[Case]:
    """Yield a case, and delete its objects at the end."""
    with closing(Reader(cluster.kubeconfig)) as reader:
        yield Case(cluster, reader, name)
    kinds = "schedulingpolicies,pods,nodes,poddisruptionbudgets,priorityclasses"
    cluster.kubectl("delete", kinds, f"--selector={LABEL}={name}", "--force", "--grace-period=0", "--wait=false")
