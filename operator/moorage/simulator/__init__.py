"""The engine without a cluster.

The package `parity` compares the engine's decisions with recorded decisions of kube-scheduler. The other modules
simulate how tasks arrive and are placed on the nodes of a file, with one or several policies. A task is a row of a file
that becomes a pod.
"""
