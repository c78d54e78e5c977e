"""Reads kubeconfig files into structs; reports faults by file and field."""

from __future__ import annotations

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from moorage.errors import CredentialsError
from moorage.limited_file import read_limited
from moorage.runtime.client.kubeconfig import Kubeconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILE_BYTES = 4 << 20
"""Enough for a thousand clusters, users and contexts with their certificates."""
PIPE_SECONDS = 1.0
"""Time limit for reading a kubeconfig that is a pipe. The read blocks the event loop."""
MAX_PARTS = 200_000
"""More values than a kubeconfig of MAX_FILE_BYTES has. The limit stops nested aliases, which grow exponentially."""
EXTENSION = "extension"
"""The field that holds data of another program."""
TIMESTAMP = "tag:yaml.org,2002:timestamp"
Stamp = tuple[int, int, int] | None


def files_of(paths: str) -> tuple[Path, ...]:
    """Return the files in `paths`: one file, or a list as in $KUBECONFIG."""
    parts = (paths,) if Path(paths).is_file() else paths.split(os.pathsep)
    return tuple(Path(os.path.expanduser(part)) for part in parts if part)  # noqa: PTH111 - Path.expanduser raises


def stamp_of(file: Path) -> Stamp:
    """Return numbers that change when the file changes; None if there is no such file."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_kubeconfigs(files: Sequence[Path]) -> list[tuple[Path, Kubeconfig]]:
    """Return the content of each file; raise CredentialsError if no file has content, or if a file cannot be read.

    As in kubectl, missing and empty files are skipped.
    """
    contents = [(file, _parsed(file)) for file in files if _exists(file)]
    shown = os.pathsep.join(map(str, files))
    if not contents:
        raise CredentialsError(f"the kubeconfig {shown} does not exist")
    if not any(content for _, content in contents):
        raise CredentialsError(f"the kubeconfig {shown} is empty")
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
        content = read_limited(file, MAX_FILE_BYTES, PIPE_SECONDS)
        encoding = "UTF-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "UTF-8-SIG"
        text = content.decode(encoding)
    except OSError as error:
        raise CredentialsError(f"{what} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CredentialsError(
            f"{what} is not {encoding.removesuffix('-SIG')}: {error.reason} at byte {error.start}"
        ) from error
    try:
        return msgspec.json.decode(text)  # YAML 1.1 would reject JSON that is indented with tabs
    except (msgspec.DecodeError, RecursionError):
        return _parsed_yaml(what, text)


def _parsed_yaml(what: str, text: str) -> Any:
    try:
        first, *others = yaml.load_all(text, _Loader) if text.strip() else [None]
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise CredentialsError(f"{what} is not YAML: line {line}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CredentialsError(f"{what} is not YAML: {error}") from error
    if any(other is not None for other in others):
        raise CredentialsError(
            f"{what} holds {len(others) + 1} documents, of which only one is used; remove the others"
        )
    return first


class _Loader(yaml.SafeLoader):
    """A loader that reads a date as a string, as kubectl does."""


_Loader.yaml_implicit_resolvers = {
    first: [resolver for resolver in resolvers if resolver[0] != TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _structured(file: Path, content: Any) -> Kubeconfig:
    if not isinstance(content, dict):
        raise CredentialsError(f"the kubeconfig {file} must be a mapping with clusters, users and contexts")
    for field, value in (("apiVersion", "v1"), ("kind", "Config")):
        if content.get(field) not in {None, "", value}:
            raise CredentialsError(f"{field} of the kubeconfig {file} must be {value}, not {content[field]!r}")
    try:
        if _has_more_parts(content, MAX_PARTS):
            raise CredentialsError(f"the kubeconfig {file} has over {MAX_PARTS} values; do aliases multiply them?")
        return msgspec.convert(_as_in_go(content), Kubeconfig)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        field = place.rpartition("`$")[2].strip("`.") or "a field"
        raise CredentialsError(f"{field} of the kubeconfig {file} has the wrong type: {reason}") from error
    except RecursionError as error:
        raise CredentialsError(f"the kubeconfig {file} is nested too deeply") from error


def _has_more_parts(value: Any, limit: int) -> bool:
    """Return whether a value contains more than `limit` values. A value counts again for each alias to it."""
    remaining, count = [value], 0
    while remaining and count <= limit:
        count += 1
        value = remaining.pop()
        remaining += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return count > limit


def _as_in_go(value: Any) -> Any:
    """Return the value without nulls, which Go reads as missing fields, and without keys that are not strings."""
    if isinstance(value, dict):
        named = {name: one for name, one in value.items() if one is not None and isinstance(name, str)}
        return {name: one if name == EXTENSION else _as_in_go(one) for name, one in named.items()}
    return [_as_in_go(one) for one in value] if isinstance(value, list) else value
