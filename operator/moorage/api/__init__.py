"""The API that users write: pydantic models of SchedulingPolicy, and of parts of KubeSchedulerConfiguration.

This package also generates the CRD from the models, and builds conditions. It imports no plugin and no engine, reads no
file, and calls no API server.
"""
