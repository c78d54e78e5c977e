"""The way from a command to the operator: the holder of the Lease, a port-forward to it, and the question."""
