"""Keeps the versions of objects, as etcd does, but in memory. Does not know kinds or requests."""
