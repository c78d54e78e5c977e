"""TLS contexts for the API server, for extenders and for what the process serves."""
