"""The users of an API server: each has a token and a kubeconfig."""

import csv
import json
import secrets
from pathlib import Path

TOKEN_BYTES = 24


class Users:
    """A static token file and a kubeconfig for each user. The API server reads the token file at startup."""

    def __init__(self, directory: Path, server: str, ca_file: Path) -> None:
        self.token_file = directory / "tokens.csv"
        self.tokens: dict[str, str] = {}
        self._directory = directory
        self._cluster = {"server": server, "certificate-authority": str(ca_file)}
        directory.mkdir()

    def add(self, name: str, *groups: str) -> None:
        """Add a user that belongs to these groups."""
        token = secrets.token_hex(TOKEN_BYTES)
        self.tokens[name] = token
        with self.token_file.open("a", newline="") as file:
            csv.writer(file).writerow([token, name, name, ",".join(groups)])
        self.kubeconfig(name).write_text(json.dumps(self._kubeconfig(name, token), indent=2))

    def kubeconfig(self, name: str) -> Path:
        """Return the kubeconfig of a user."""
        return self._directory / f"{name.replace(':', '-')}.kubeconfig"

    def _kubeconfig(self, name: str, token: str) -> dict[str, object]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "controlplane",
            "clusters": [{"name": "controlplane", "cluster": self._cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "controlplane", "context": {"cluster": "controlplane", "user": name}}],
        }
