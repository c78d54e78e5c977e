"""Reads kubeconfig files into structs; reports faults by file and field."""

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
    """Return the files in `paths`, a list as in $KUBECONFIG."""
    return tuple(Path(os.path.expanduser(part)) for part in paths.split(os.pathsep) if part)  # noqa: PTH111 - it never raises


def stamp_of(file: Path) -> Stamp:
    """Return numbers that change when the file changes; None if it cannot be found."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_kubeconfigs(paths: str) -> list[tuple[Path, Kubeconfig]]:
    """Return the content of each file; raise CredentialsError if there is none, or one cannot be read.

    As in kubectl, missing and empty files are skipped.
    """
    contents = [(file, _parsed(file)) for file in files_of(paths) if _exists(file)]
    if not contents:
        raise CredentialsError(f"the kubeconfig {paths} does not exist")
    if not any(content for _, content in contents):
        raise CredentialsError(f"the kubeconfig {paths} is empty")
    return [(file, _structured(file, content)) for file, content in contents if content]


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:
        raise CredentialsError(f"the kubeconfig {file} cannot be read: {error.strerror}") from error


def _parsed(file: Path) -> Any:
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
        return msgspec.json.decode(text)  # YAML 1.1 would reject JSON that is indented with tabs
    except (msgspec.DecodeError, RecursionError):
        return _parsed_yaml(what, text)


def _parsed_yaml(what: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise CredentialsError(f"{what} is not YAML: line {line}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CredentialsError(f"{what} is not YAML: {error}") from error


def _structured(file: Path, content: Any) -> Kubeconfig:
    if not isinstance(content, dict):
        raise CredentialsError(f"the kubeconfig {file} must be a mapping with clusters, users and contexts")
    try:
        return msgspec.convert(_without_nulls(content), Kubeconfig)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        field = place.rpartition("`$")[2].strip("`.") or "a field"
        raise CredentialsError(f"{field} of the kubeconfig {file} has the wrong type: {reason}") from error
    except RecursionError as error:
        raise CredentialsError(f"the kubeconfig {file} is nested too deeply") from error


def _without_nulls(value: Any) -> Any:
    """Return the value without nulls, which mean to Go that the field is missing."""
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
