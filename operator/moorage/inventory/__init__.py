"""Inventories: the Kubernetes objects that the engine reads of a cluster, in memory and in dump files.

`moorage dump` writes an inventory to a file. `cluster_events` turns an inventory into the events that informers would
post.
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
