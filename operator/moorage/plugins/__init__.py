"""The scheduling plugins, one file each; a new plugin is one new file that the registry finds by itself."""
