"""The API that users write: pydantic models of SchedulingPolicy and of the parts of KubeSchedulerConfiguration.

Also here: the CRD generated from the models, and the rules of conditions. This package knows no plugin and no engine,
reads no file, and calls no API server.
"""
