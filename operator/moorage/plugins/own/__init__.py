"""Plugins that kube-scheduler does not have. A new plugin is one new file here."""
