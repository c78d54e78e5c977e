"""The HTTP endpoints of the process, and the authentication and authorization of their callers."""
