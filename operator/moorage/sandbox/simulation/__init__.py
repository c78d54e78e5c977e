"""The simulated rest of a cluster: nodes, a kubelet, and the controllers that deletions and budgets need."""
