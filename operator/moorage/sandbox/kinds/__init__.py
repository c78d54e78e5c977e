"""Rules of the kinds: which resources exist, their schemas, defaults, versions and validation. Holds no objects."""
