"""PostFilter and preemption: which pods to evict so that a pod of higher priority fits."""
