"""What people write: the SchedulingPolicy and the configuration file, and how both are checked and described.

Here live the pydantic models, the CRD made from them, the loader of the file, and the bookkeeping of conditions.
Nothing here knows the engine, reads a file, or talks to an API server.
"""
