"""Web services with a say in scheduling, by kube-scheduler's protocol, behind circuit breakers."""
