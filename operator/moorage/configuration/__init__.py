"""The KubeSchedulerConfiguration file: reading, checking, viewing and importing it.

Everything here is pure: text comes in, settings, profiles or faults come out.
"""
