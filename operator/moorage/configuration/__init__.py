"""The KubeSchedulerConfiguration file: reading, checking, viewing and importing it.

Everything here is pure: the functions turn text into settings, profiles or faults.
"""
