"""Reads objects over one connection. Tests that wait read often, and kubectl takes too long to start each time."""

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
    """A client that reads objects with the credentials of a kubeconfig."""

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
        """Return an object or a list. Raise LookupError for an error status, AssertionError if there is no answer."""
        try:
            status, body = self._get(path)
        except (OSError, HTTPException):
            status, body = self._reconnect_and_get(path)
        if status != HTTPStatus.OK:
            raise LookupError(f"GET {path}: {status}: {body.decode()}")
        return json.loads(body)

    def _get(self, path: str) -> tuple[int, bytes]:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _reconnect_and_get(self, path: str) -> tuple[int, bytes]:
        """Read over a new connection, because the server may have restarted since the last request."""
        self.close()
        try:
            return self._get(path)
        except (OSError, HTTPException) as error:
            self.close()
            raise AssertionError(f"GET {path}: {error}") from error

    def close(self) -> None:
        """Close the connection; the next read opens a new one."""
        self._connection.close()
