"""The way to the API server: credentials, connections, one client in bytes, and what its refusals mean."""
