"""Reads the policy that a search improves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage.configuration.content_reader import read_content
from moorage.configuration.text_decoding import decode
from moorage.errors import CommandFailed
from moorage.framework.registry import Registry
from moorage.simulator.policy_files import ProfileBuilder


def read_base(file: Path) -> dict[str, Any]:
    """Return the spec of the policy in a file. Raise InvalidInput or CommandFailed if the file has no valid policy."""
    found = ProfileBuilder(Registry.discover(), 100).build_all([file])[1:]
    if len(found) != 1 or found[0].profile.policy is None:
        raise CommandFailed(f"{file} must hold exactly one SchedulingPolicy")
    content = read_content(decode(file.read_bytes(), file)).content
    return dict(content.get("spec") or {})
