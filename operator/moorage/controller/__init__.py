"""From SchedulingPolicy objects to live profiles and conditions.

`presets`, `compile` and `policies` are pure; `policy_watch` is the only place that knows kopf.
"""
