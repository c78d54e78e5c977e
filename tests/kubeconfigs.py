"""Builders of kubeconfig files and of credential plugins for them."""

import sys
from pathlib import Path
from typing import Any

import yaml

EXEC_VERSION = "client.authentication.k8s.io/v1"


def kubeconfig(folder: Path, user: Any, cluster: Any = None, name: str = "config") -> str:
    """Write a kubeconfig with two contexts, `here` (the current one) and `there`, and return its path."""
    path = folder / name
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [
            {"name": "c", "cluster": cluster or {"server": "http://127.0.0.1:8001/"}},
            {"name": "far", "cluster": {"server": "http://127.0.0.1:8002"}},
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": {"cluster": "far", "user": "u"}},
        ],
    }
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return str(path)


def plugin(folder: Path, body: str, **fields: Any) -> dict[str, Any]:
    """Write a credential plugin, a Python script, and return the user that runs it."""
    script = folder / "plugin"
    script.write_text(f"#!{sys.executable}\nimport json, os, sys, pathlib\n{body}\n", encoding="utf-8")
    script.chmod(0o700)
    return {"exec": {"apiVersion": EXEC_VERSION, "command": str(script), "interactiveMode": "Never", **fields}}


def printing(status: str) -> str:
    """Return the line of a plugin that prints an ExecCredential with a status, an expression of Python."""
    return f"print(json.dumps({{'kind': 'ExecCredential', 'apiVersion': {EXEC_VERSION!r}, 'status': {status}}}))"
