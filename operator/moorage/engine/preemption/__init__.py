"""PostFilter and preemption: the choice of pods to evict so that a pod of higher priority fits."""
