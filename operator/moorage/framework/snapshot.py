"""What plugins read: the cluster as columns over nodes, for the length of one cycle.

A snapshot is a view of live columns, not a copy: nobody writes while a cycle runs. `take` gives a view of fewer nodes
whose columns are gathered when first asked for; `what_if` gives one node with columns of its own, on which pods may be
added and removed to try preemption. All views share ids and vocabularies (of label values, taint sets, ...), so what
PreFilter computes by domain on the whole cluster holds for every view.

Arrays are read-only, contiguous, one entry a node of the view, int64 unless said otherwise.
"""

from __future__ import annotations
