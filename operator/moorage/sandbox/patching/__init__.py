"""Patches: merge, JSON, strategic merge, and server-side apply with field owners. Computes new objects, stores none."""
