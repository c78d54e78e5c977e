"""What people are told: events.k8s.io/v1 objects, folded into series."""
