"""The client of the API server: credentials, connections, requests in bytes, and refusals as exceptions."""
