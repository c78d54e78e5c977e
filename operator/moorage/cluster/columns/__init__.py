"""Columns: arrays with one entry for each node."""
