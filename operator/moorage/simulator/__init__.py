"""The engine without a cluster.

`parity` compares its decisions with recorded decisions of kube-scheduler. The other modules simulate the arrival of
tasks on the nodes of a file, with one or several policies.
"""
