"""The scheduling plugins, one file each. The registry finds each plugin class below this package."""
