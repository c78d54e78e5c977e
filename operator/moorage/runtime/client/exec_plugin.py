"""Runs a kubeconfig's credential plugin: a process that must not outlive whoever waits for it, nor take for ever."""

from __future__ import annotations

import asyncio
import os
import signal
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from moorage.errors import CredentialsError
from moorage.runtime.client.kubeconfig import CERTIFICATE_DATA, KEY_DATA

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGIN_SECONDS = 60.0
"""How long a plugin may take; it may ask a cloud's API, but nobody."""


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """What a plugin gives: a token, or a client certificate with its key."""

    token: str | None = None
    certificate: str | None = None
    """PEM, as is the key."""
    key: str | None = None
    expires_at: float | None = None
    """Unix time; None where the plugin does not say."""

    def as_user(self) -> Mapping[str, str]:
        """Return it as the fields of a kubeconfig's user."""
        if self.token:
            return {"token": self.token}
        data = {CERTIFICATE_DATA: self.certificate, KEY_DATA: self.key}
        return {name: b64encode((pem or "").encode()).decode() for name, pem in data.items()}


class _Status(Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(Struct, rename="camel"):
    api_version: str
    status: _Status


async def run_plugin(config: Mapping[str, Any], seconds: float = PLUGIN_SECONDS) -> PluginCredential:
    """Run the plugin of a user's `exec`.

    Raises CredentialsError with the plugin's own words where it has any. Its process is killed where it takes longer
    than `seconds`, and where who waits for it is cancelled.
    """
    if not isinstance(config, dict) or not config.get("command") or not config.get("apiVersion"):
        raise CredentialsError("exec: command and apiVersion must be set")
    command, version = str(config["command"]), config["apiVersion"]
    exit_status, out, err = await _output(command, config, seconds)
    if exit_status:
        words = err.decode("utf-8", "replace").strip()
        raise CredentialsError(f"exec: {command} ended with status {exit_status}" + (f": {words}" if words else ""))
    try:
        answer = msgspec.json.decode(out, type=_ExecCredential)
    except ValueError as error:
        raise CredentialsError(f"exec: {command} printed no ExecCredential: {error}") from error
    if answer.api_version != version:
        raise CredentialsError(f"exec: {command} answers in {answer.api_version}, not in {version}")
    return _credential(command, answer.status)


def _credential(command: str, status: _Status) -> PluginCredential:
    if not status.token and not (status.client_certificate_data and status.client_key_data):
        raise CredentialsError(f"exec: {command} gave neither a token nor a client certificate with its key")
    expiry = status.expiration_timestamp
    return PluginCredential(
        token=status.token,
        certificate=status.client_certificate_data,
        key=status.client_key_data,
        expires_at=expiry.timestamp() if expiry else None,
    )


async def _output(command: str, config: Mapping[str, Any], seconds: float) -> tuple[int | None, bytes, bytes]:
    pipe = asyncio.subprocess.PIPE
    arguments = [str(argument) for argument in config.get("args") or ()]
    try:
        process = await asyncio.create_subprocess_exec(
            command, *arguments, env=_environment(config), stdout=pipe, stderr=pipe, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise CredentialsError(f"exec: {command!r} cannot be run: {error}") from error
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError as error:
        raise CredentialsError(f"exec: {command} gave no credential within {seconds:g} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # those that it has started hold its pipes open
            await process.wait()
    return process.returncode, out, err


def _environment(config: Mapping[str, Any]) -> Mapping[str, str]:
    info = {"apiVersion": config.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    given = {str(one.get("name")): str(one.get("value")) for one in config.get("env") or ()}
    return os.environ | given | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
