"""The page of `moorage simulate --html`: one HTML file with plots inline. It has no script, and loads nothing."""
