"""Reads objects over one connection: what a test waits for is looked at often, and a kubectl each time takes long."""

from __future__ import annotations

import json
import ssl
from http import HTTPStatus
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
            status, body = self._get(path)
        except (OSError, HTTPException):
            status, body = self._get_anew(path)
        if status != HTTPStatus.OK:
            raise LookupError(f"GET {path}: {status}: {body.decode()}")
        return json.loads(body)

    def _get(self, path: str) -> tuple[int, bytes]:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _get_anew(self, path: str) -> tuple[int, bytes]:
        """Ask over another connection: the server may have gone and come back since the last request."""
        self.close()
        try:
            return self._get(path)
        except (OSError, HTTPException) as error:
            self.close()
            raise AssertionError(f"GET {path}: {error}") from error

    def close(self) -> None:
        """Close the connection; the next read opens another one."""
        self._connection.close()
