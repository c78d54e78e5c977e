"""Calls extenders: web services that filter, prioritize, bind and preempt by kube-scheduler's extender protocol."""
