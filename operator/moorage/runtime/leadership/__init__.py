"""Which replica may write: a Lease, and the fence behind it."""
