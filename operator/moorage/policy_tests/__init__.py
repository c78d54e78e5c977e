"""Runs tests of policies. A test is a YAML file with pods and expectations. The engine runs it without a server."""
