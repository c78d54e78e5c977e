"""Serving of custom kinds: updates the served resources when a CustomResourceDefinition changes.

Upstream: apiextensions-apiserver, pkg/controller/establish/establishing_controller.go.
"""

from dataclasses import dataclass

from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.custom_resources import established_status, served_types
from moorage.sandbox.kinds.resource_types import CUSTOM_RESOURCE_DEFINITIONS
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.kinds.served_resources import ServedResources
from moorage.sandbox.objects import Object, key_of
from moorage.sandbox.storage.store import Record, Store


@dataclass(frozen=True, slots=True)
class EstablishingController:
    """The controller that serves custom kinds.

    It acts during the write of a definition; upstream's controller acts later.
    """

    store: Store
    resources: ServedResources
    schemas: Schemas
    rules: CelRules

    def establish(self, record: Record, now: str) -> Record:
        """Serve the kind of a new or changed definition, and set the definition's status."""
        crd = record.obj
        self._stop_serving(crd)
        for resource in served_types(crd, self.schemas, self.rules):
            self.resources.add(resource)
        status = established_status(crd, now)
        if crd.get("status") == status:
            return record
        new = crd | {"status": status, "metadata": dict(crd["metadata"])}
        return self.store.update(CUSTOM_RESOURCE_DEFINITIONS, new, record)

    def remove(self, record: Record) -> None:
        """After the deletion of a definition, delete all objects of its kind and stop serving the kind."""
        spec = record.obj["spec"]
        collection = f"{spec['names']['plural']}.{spec['group']}"
        for instance in self.store.records(collection):
            self.store.delete(collection, key_of(instance.obj))
        self._stop_serving(record.obj)

    def _stop_serving(self, crd: Object) -> None:
        self.resources.remove_custom(crd["spec"]["group"], crd["spec"]["names"]["plural"])
