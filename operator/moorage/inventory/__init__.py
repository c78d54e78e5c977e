"""Inventories: what the engine reads of a cluster, as Kubernetes objects by kind, in memory and in dump files.

`moorage dump` writes one. `cluster_events` turns one into the messages that informers would post.
"""

from moorage.inventory.anonymizing import anonymize
from moorage.inventory.cluster_inventory import Inventory, check_objects, cluster_events
from moorage.inventory.dump_file import read_dump, write_dump
from moorage.inventory.kinds import KINDS
from moorage.inventory.read_fields import keep_read_fields

__all__ = [
    "KINDS",
    "Inventory",
    "anonymize",
    "check_objects",
    "cluster_events",
    "keep_read_fields",
    "read_dump",
    "write_dump",
]
