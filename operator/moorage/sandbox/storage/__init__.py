"""Keeps versions of objects in memory, as etcd does. Does not know kinds or requests."""
