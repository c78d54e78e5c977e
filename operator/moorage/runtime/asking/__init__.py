"""Lets a command ask the operator: finds the holder of the Lease, forwards a port to its pod, and asks."""
