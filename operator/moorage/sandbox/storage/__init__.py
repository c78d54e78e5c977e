"""Versions of objects in memory, as etcd keeps them. Knows nothing of kinds or requests."""
