"""The cluster as the engine sees it: columns over nodes, counted terms, volumes, and the snapshot that plugins read.

This package holds state only: no extension points, no decisions, no I/O. It imports nothing of `framework`.
"""
