"""Code that several plugins share, and parts of large plugins. No module here is a plugin."""
