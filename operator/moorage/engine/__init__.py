"""The scheduler: cache, queue, the scheduling cycle and preemption, driven by events and an injected clock."""
