"""Turns SchedulingPolicy objects into live profiles, and reports their state in conditions, events and logs.

    policy_watch (kopf) -> policy_controller -> policies -> policy_profiles -> compilation -> engine
                                               `-> policy_report -> status_reporter -> status_writer

Only `policy_watch` uses kopf. The store and the reports are pure.
"""
