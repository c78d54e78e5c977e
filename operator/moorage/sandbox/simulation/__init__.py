"""What runs in a cluster besides the API server: nodes, a kubelet, and the controllers that deletions need."""
