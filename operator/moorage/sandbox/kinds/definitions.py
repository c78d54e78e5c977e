"""Keeps the served resources in step with the CustomResourceDefinitions in the store."""

from dataclasses import dataclass

from moorage.sandbox.kinds.cel import CelRules
from moorage.sandbox.kinds.custom import established_status, served_types
from moorage.sandbox.kinds.resources import Resources
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.storage.store import Record, Store

PLACE = "customresourcedefinitions.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Definitions:
    """Establishes custom kinds at once, where kube-apiserver takes a moment."""

    store: Store
    resources: Resources
    schemas: Schemas
    rules: CelRules

    def establish(self, record: Record, now: str) -> Record:
        """Serve what a new or changed definition says, and write that into its status."""
        crd = record.obj
        spec = crd["spec"]
        self.resources.remove_custom(spec["group"], spec["names"]["plural"])
        for resource in served_types(crd, self.schemas, self.rules):
            self.resources.add(resource)
        status = established_status(crd, now)
        if crd.get("status") == status:
            return record
        return self.store.update(PLACE, crd | {"status": status, "metadata": dict(crd["metadata"])}, record)

    def withdraw(self, record: Record) -> None:
        """Stop serving a deleted definition's kind and drop its objects."""
        spec = record.obj["spec"]
        place = f"{spec['names']['plural']}.{spec['group']}"
        for instance in self.store.records(place):
            meta = instance.obj["metadata"]
            self.store.delete(place, (meta.get("namespace") or "", meta["name"]))
        self.resources.remove_custom(spec["group"], spec["names"]["plural"])
