"""What the API server holds, listed and watched, whatever happens to the connection."""
