"""kube-scheduler's metrics and our own."""
