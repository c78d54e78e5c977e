"""The scheduling queue: active, backoff, unschedulable and gated pods, and pods in flight."""
