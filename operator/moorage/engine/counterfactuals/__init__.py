"""Counterfactuals: the smallest single changes after which a waiting pod would fit on a node.

The search tries each change on a copy of the pod or of the cluster, and runs PreFilter and Filter there. Callers use
`find_changes`.
"""
