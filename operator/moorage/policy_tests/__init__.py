"""Tests of policies: pods and expectations in YAML files, run on the engine without a server."""
