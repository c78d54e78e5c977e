"""The scheduling plugins, one file each. The registry finds every plugin class below this package."""
