"""The rules of each kind: its resource, schema, defaults, versions and validation. Stores no objects."""
