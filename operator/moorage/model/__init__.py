"""Kubernetes objects as frozen, slotted structs that the engine reads, and the code that decodes them from JSON.

This package must not make scheduling decisions or write to the API server.
"""
