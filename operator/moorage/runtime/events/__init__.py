"""Events that users read with kubectl: what they say, how they repeat, and how they reach the API server."""
