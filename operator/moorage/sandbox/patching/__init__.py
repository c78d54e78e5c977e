"""Merge, JSON and strategic merge patches, and server-side apply. Computes new objects, but does not store them."""
