"""Reads, checks, shows and imports KubeSchedulerConfiguration files.

The functions turn text into settings, profiles or faults. They do no I/O.
"""
