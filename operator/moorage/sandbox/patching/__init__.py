"""Everything that a patch can be: merge, JSON, strategic merge, and server-side apply with its field owners."""
