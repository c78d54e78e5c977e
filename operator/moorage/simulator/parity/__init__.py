"""Runs the engine on cases from files, without a cluster, and compares its decisions with kube-scheduler's."""
