"""kube-scheduler's default plugins, one file each."""
