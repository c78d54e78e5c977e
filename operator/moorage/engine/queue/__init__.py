"""The scheduling queue: active, backoff and unschedulable pods, and pods in flight."""
