"""The disruption controller: keeps the status of PodDisruptionBudgets true to the pods."""

import asyncio

from moorage.sandbox.kinds.budgets import desired_healthy
from moorage.sandbox.kinds.pod_verbs import BUDGETS, PODS
from moorage.sandbox.kinds.pods import is_ready, is_terminal
from moorage.sandbox.objects import Object, copy, metadata
from moorage.sandbox.storage.changes import Feed
from moorage.sandbox.storage.registry import Registry
from moorage.sandbox.storage.selectors import matches_selector
from moorage.sandbox.storage.store import Record

_SETTLE_SECONDS = 0.02  # gathers a burst of pod changes into one count


class DisruptionController:
    """Counts healthy pods. It takes the matching pods as the expected ones, where upstream asks their controllers."""

    def __init__(self, registry: Registry) -> None:
        """Count in a registry."""
        self._registry = registry

    async def run(self) -> None:
        """Count on every change until cancelled."""
        store = self._registry.store
        with Feed(store, BUDGETS, store.revision) as budgets, Feed(store, PODS, store.revision) as pods:
            while True:
                self.count()
                waits = [asyncio.ensure_future(feed.wait()) for feed in (budgets, pods)]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for wait in waits:
                        wait.cancel()
                await asyncio.sleep(_SETTLE_SECONDS)
                budgets.take()
                pods.take()

    def count(self) -> None:
        """Bring every budget's status up to date."""
        for record in self._registry.store.records(BUDGETS):
            status = self._status(record)
            if status != record.obj.get("status"):
                new = copy(record.obj) | {"status": status}
                self._registry.store.update(BUDGETS, new, record)

    def _status(self, record: Record) -> Object:
        budget = record.obj
        selector = budget["spec"].get("selector")
        pods = [
            pod.obj
            for pod in self._registry.store.records(PODS, budget["metadata"]["namespace"])
            if selector is not None and matches_selector(selector, metadata(pod.obj).get("labels") or {})
        ]
        expected = [pod for pod in pods if not is_terminal(pod)]
        present = {pod["metadata"]["name"] for pod in expected if not metadata(pod).get("deletionTimestamp")}
        disrupted = {
            name: time
            for name, time in ((budget.get("status") or {}).get("disruptedPods") or {}).items()
            if name in present
        }
        healthy = sum(is_ready(pod) and pod["metadata"]["name"] in present - disrupted.keys() for pod in expected)
        desired = desired_healthy(budget["spec"], len(expected))
        status: Object = {
            "observedGeneration": budget["metadata"].get("generation", 0),
            "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
            "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": len(expected),
        }  # fmt: skip
        return status | {"disruptedPods": disrupted} if disrupted else status
