"""Parses HTTP requests, and encodes the results of the package `operations`."""
