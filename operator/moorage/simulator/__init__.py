"""The engine without a cluster: over cases in files, and (later) over snapshots with a virtual clock."""
