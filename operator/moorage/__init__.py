"""moorage: SchedulingPolicy objects as live scheduling profiles, decided as kube-scheduler decides."""

__version__ = "0.1.0"
