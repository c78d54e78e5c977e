"""Simulates the rest of a cluster: nodes, a kubelet, and the controllers for deletions and disruption budgets."""
