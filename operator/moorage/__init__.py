"""moorage: a Kubernetes scheduler whose profiles are SchedulingPolicy objects. Its decisions follow kube-scheduler."""

__version__ = "0.1.0"
