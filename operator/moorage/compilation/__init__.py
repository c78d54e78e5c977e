"""Compiles SchedulingPolicy objects into profile specifications, and finds fields that deserve a warning.

This package does no I/O. The operator, the simulator and the command line use it.
"""
