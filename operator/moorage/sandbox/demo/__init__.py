"""`moorage demo`: the whole path on one machine, and what it shows."""
