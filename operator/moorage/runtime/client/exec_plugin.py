"""Runs the credential plugin of a kubeconfig. Kills the plugin after a time limit, or when its caller is cancelled.

Upstream: staging/src/k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.runtime.client.kubeconfig import ExecConfig

logger = logging.getLogger(__name__)

PLUGIN_SECONDS = 60.0
"""Time limit of a plugin. It may call a cloud API but must not prompt a user."""
SLOW_SECONDS = 5.0
"""After this time, the log names a plugin that has not answered. At its start, moorage waits for the plugin."""
KILL_SECONDS = 2.0
"""The longest wait for the end of a plugin that was killed."""
MAX_OUTPUT_BYTES = 1 << 20
"""Limit of a plugin's output. Tokens and certificates have a few kilobytes."""
SHOWN_BYTES = 1000
"""The number of bytes of the plugin's stderr that an error message shows."""
CHUNK_BYTES = 1 << 16


class PluginCluster(Struct, rename="kebab", omit_defaults=True):
    """The cluster information for plugins with `provideClusterInfo`."""

    server: str
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    config: Any = None


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """A plugin's answer: a token, or a client certificate with its key, or both."""

    token: str | None = None
    certificate: str | None = None
    """In PEM, like `key`."""
    key: str | None = None
    expires_at: float | None = None
    """Seconds since the epoch; None if the plugin's answer has no expiration time."""


class ExecCredentialStatus(Struct, rename="camel"):
    """The status of an ExecCredential."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class ExecCredential(Struct, rename="camel"):
    """A plugin's output, in JSON or YAML. kubectl reads both too."""

    api_version: str
    kind: Literal["ExecCredential"]
    status: ExecCredentialStatus


async def run_plugin(
    config: ExecConfig,
    cluster: PluginCluster | None = None,
    seconds: float = PLUGIN_SECONDS,
    slow_seconds: float = SLOW_SECONDS,
) -> PluginCredential:
    """Run a user's plugin and return its credential.

    Raise CredentialsError if the plugin fails; the message shows its stderr. Log a warning after `slow_seconds`. Kill
    the process of the plugin after `seconds`, or when the caller is cancelled.
    """
    command = config.command
    slow = asyncio.get_running_loop().call_later(slow_seconds, _log_waiting, command, slow_seconds, seconds)
    try:
        exit_status, out, err = await _output(config, _environment(config, cluster), seconds)
    finally:
        slow.cancel()
    if exit_status:
        words = _one_line(err)
        raise CredentialsError(f"{command} ended with status {exit_status}" + (f": {words}" if words else ""))
    try:
        decode = msgspec.json.decode if out.lstrip().startswith(b"{") else msgspec.yaml.decode
        answer = decode(out, type=ExecCredential)
    except ValueError as error:
        raise CredentialsError(f"{command} printed no ExecCredential: {error}") from error
    if answer.api_version != config.api_version:
        raise CredentialsError(f"{command} answers in {answer.api_version}, not in {config.api_version}")
    return _credential(command, answer.status)


def _log_waiting(command: str, slow_seconds: float, seconds: float) -> None:
    logger.warning(
        "The credential plugin %s has not answered for %g s; moorage waits for it up to %g s. Run it by hand to see "
        "whether it prompts or cannot reach its server",
        command, slow_seconds, seconds,
    )  # fmt: skip


def _one_line(text: bytes) -> str:
    """Return a plugin's text as one line, for a message. Line ends and control characters could forge log lines."""
    words = " ".join(text[:SHOWN_BYTES].decode("utf-8", "replace").split())
    return "".join(character for character in words if character.isprintable())


def _credential(command: str, status: ExecCredentialStatus) -> PluginCredential:
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        raise CredentialsError(f"{command} gave only one of a client certificate and its key")
    if not status.token and not certificate:
        raise CredentialsError(f"{command} gave neither a token nor a client certificate with its key")
    expiry = status.expiration_timestamp
    return PluginCredential(
        token=status.token,
        certificate=certificate,
        key=key,
        expires_at=expiry.timestamp() if expiry else None,
    )


async def _output(
    config: ExecConfig, environment: Mapping[str, str], seconds: float
) -> tuple[int | None, bytes, bytes]:
    command, pipe = config.command, asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            command, *config.args, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        hint = f"; {_one_line(config.install_hint.encode())}" if config.install_hint else ""
        raise CredentialsError(f"{command!r} cannot be run: {error}{hint}") from error
    errors = asyncio.create_task(_read_to_end(process.stderr), name="plugin-errors")
    try:
        async with asyncio.timeout(seconds):
            out = await _read_at_most(process.stdout, MAX_OUTPUT_BYTES + 1)
            if len(out) > MAX_OUTPUT_BYTES:
                raise CredentialsError(f"{command} printed more than {MAX_OUTPUT_BYTES} bytes")
            err = await errors
            await process.wait()
    except TimeoutError as error:
        raise CredentialsError(f"{command} gave no credential within {seconds:g} s") from error
    finally:
        if process.returncode is None:
            await _kill(process)
        errors.cancel()
    return process.returncode, out, err


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a plugin and its children, which hold its pipes open.

    Also read the rest of the plugin's output. asyncio's `wait` returns only after the pipes are closed, and a pipe with
    unread output is never closed.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    rest = asyncio.create_task(_read_to_end(process.stdout), name="plugin-output")
    try:
        with suppress(TimeoutError):  # a child that left the process group may keep a pipe open
            async with asyncio.timeout(KILL_SECONDS):
                await process.wait()
    finally:
        rest.cancel()


async def _read_at_most(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    """Read a pipe to its end, but at most `limit` bytes."""
    assert stream
    read = b""
    while len(read) < limit and (chunk := await stream.read(limit - len(read))):
        read += chunk
    return read


async def _read_to_end(stream: asyncio.StreamReader | None) -> bytes:
    """Read a pipe to its end and return the first SHOWN_BYTES bytes."""
    assert stream
    read = b""
    while chunk := await stream.read(CHUNK_BYTES):
        read += chunk[: SHOWN_BYTES - len(read)]
    return read


def _environment(config: ExecConfig, cluster: PluginCluster | None) -> Mapping[str, str]:
    spec: dict[str, Any] = {"interactive": False}
    if cluster:
        spec["cluster"] = cluster
    info = {"apiVersion": config.api_version, "kind": "ExecCredential", "spec": spec}
    given = {variable.name: variable.value for variable in config.env}
    return os.environ | given | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
