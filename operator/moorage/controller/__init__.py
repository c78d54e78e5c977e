"""From SchedulingPolicy objects to live profiles and conditions.

`presets`, `compile` and `policies` are pure; `handlers` is the only place that knows kopf.
"""
