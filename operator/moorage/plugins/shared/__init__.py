"""Code that several plugins share. No module here is a plugin."""
