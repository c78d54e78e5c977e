"""TLS contexts for connections to the API server and to extenders, and for the HTTP endpoints."""
