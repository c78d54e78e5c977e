"""The state of the cluster that plugins read: columns over nodes, counts of placed pods, volumes, and snapshots.

This package holds state only. It must not make scheduling decisions, do I/O, or import `framework`.
"""
