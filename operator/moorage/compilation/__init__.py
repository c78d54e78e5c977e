"""Compiles SchedulingPolicy objects into profile specifications, and finds what deserves a warning in them.

This package does no I/O. The operator, the simulator and the command line use it.
"""
