"""Reads objects over one connection: what a test waits for is looked at often, and a kubectl each time takes long."""

from __future__ import annotations

import json
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

TIMEOUT_SECONDS = 10.0


class Reader:
    """GETs what a kubeconfig's user may read."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        server = urlsplit(cluster["server"])
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        host, port = server.hostname or "", server.port
        if server.scheme == "http":
            self._connection = HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        else:
            context = ssl.create_default_context(cafile=cluster["certificate-authority"])
            self._connection = HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=context)

    def read(self, path: str) -> Any:
        """Return an object or a list. LookupError if there is none, AssertionError if there is no answer."""
        try:
            self._connection.request("GET", path, headers=self._headers)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise AssertionError(f"GET {path}: {error}") from error
        if answer.status != 200:
            raise LookupError(f"GET {path}: {answer.status}: {body.decode()}")
        return json.loads(body)

    def close(self) -> None:
        """Close the connection; the next read opens another one."""
        self._connection.close()
