"""Reads kubeconfig files into structs, and reports what is wrong with them by file and field."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import yaml

from moorage.errors import CredentialsError
from moorage.runtime.client.kubeconfig import Kubeconfig

Stamp = tuple[int, int, int] | None


def files_of(paths: str) -> tuple[Path, ...]:
    """Return the files that `paths` lists as $KUBECONFIG does."""
    return tuple(Path(part).expanduser() for part in paths.split(os.pathsep) if part)


def stamp_of(file: Path) -> Stamp:
    """Return what changes when the file does; None if there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_kubeconfigs(paths: str) -> list[tuple[Path, Kubeconfig]]:
    """Return the content of each file that exists; raise CredentialsError if none does, or one cannot be read.

    As in kubectl, a file that does not exist, or is empty, is skipped if another is not.
    """
    present = [file for file in files_of(paths) if file.exists()]
    if not present:
        raise CredentialsError(f"the kubeconfig {paths} does not exist")
    contents = [(file, _parsed(file)) for file in present]
    if not any(content for _, content in contents):
        raise CredentialsError(f"the kubeconfig {paths} is empty")
    return [(file, _structured(file, content)) for file, content in contents if content]


def _parsed(file: Path) -> Any:
    """Return the file's content as JSON, in which tabs may stand between values, or as YAML, in which they may not."""
    what = f"the kubeconfig {file}"
    if file.is_dir():
        raise CredentialsError(f"{what} is a directory")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CredentialsError(f"{what} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsError(f"{what} is not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass  # YAML, then
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CredentialsError(f"{what} is not YAML: {error}") from error


def _structured(file: Path, content: Any) -> Kubeconfig:
    if not isinstance(content, dict):
        raise CredentialsError(f"the kubeconfig {file} must be a mapping with clusters, users and contexts")
    try:
        return msgspec.convert(_without_nulls(content), Kubeconfig)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        field = path.strip("`.") or "a key"
        raise CredentialsError(f"{field} of the kubeconfig {file} has the wrong type: {reason}") from error


def _without_nulls(value: Any) -> Any:
    """Leave out nulls, which Go reads as if the field were not there."""
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
