"""The input of a search as an attribute of its study, so that a study is not continued with other input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from moorage.errors import CommandFailed
from moorage.simulator.simulation_input import Request


def settings_of(request: Request, base: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that decides the figures of a trial, by the words with which errors name it."""
    return {
        "cluster": _digest(request.nodes),
        "file of tasks": _digest(request.tasks),
        "choice of pods": str(request.placed_pods),
        "price table": _digest(request.prices) if request.prices else "",
        "--policy": json.dumps(base, sort_keys=True, default=str),
        "--seed": str(request.seed),
    }


def check_settings(study: str, earlier: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Raise CommandFailed if a study was made with other input."""
    differing = [name for name, value in settings.items() if earlier.get(name) != value]
    if differing:
        raise CommandFailed(
            f"the study {study} was made with another {', another '.join(differing)}; choose another name with --study"
        )


def shown_storage(storage: str) -> str:
    """Return the URL of a storage without its password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(storage).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return storage.partition("://")[0]


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
