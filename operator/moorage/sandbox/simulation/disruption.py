"""The disruption controller: updates the status of PodDisruptionBudgets when pods or budgets change.

Upstream: pkg/controller/disruption/disruption.go.
"""

import asyncio

from moorage.sandbox.kinds.budgets import desired_healthy
from moorage.sandbox.kinds.pod_state import is_ready, is_terminal
from moorage.sandbox.kinds.resource_types import DISRUPTION_BUDGETS, PODS
from moorage.sandbox.objects import Object, copy, metadata
from moorage.sandbox.operations.selector_syntax import matches_selector
from moorage.sandbox.storage.change_feed import ChangeFeed
from moorage.sandbox.storage.store import Record, Store

_SETTLE_SECONDS = 0.02  # the pause after a change, so that a burst of changes causes only one count


class DisruptionController:
    """The controller that counts healthy pods.

    The expected pods are the pods that match the selector. Upstream uses the replicas of the pods' controllers.
    """

    def __init__(self, store: Store) -> None:
        """Count the pods of `store`."""
        self._store = store

    async def run(self) -> None:
        """Count the pods after every change, until the task is cancelled."""
        store, since = self._store, self._store.revision
        with ChangeFeed(store, DISRUPTION_BUDGETS, since) as budgets, ChangeFeed(store, PODS, since) as pods:
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
        """Update the status of every budget."""
        for record in self._store.records(DISRUPTION_BUDGETS):
            status = self._status(record)
            if status != record.obj.get("status"):
                new = copy(record.obj) | {"status": status}
                self._store.update(DISRUPTION_BUDGETS, new, record)

    def _status(self, record: Record) -> Object:
        budget = record.obj
        selector = budget["spec"].get("selector")
        pods = [
            pod.obj
            for pod in self._store.records(PODS, budget["metadata"]["namespace"])
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
