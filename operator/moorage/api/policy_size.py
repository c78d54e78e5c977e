"""The limit on the size of a policy's spec. The API server accepts 1.5 MB, which would take seconds to compile."""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.errors import Fault

MAX_SPEC_BYTES = 128 << 10
"""With this limit, the slowest spec compiles in 60 ms. A spec with eight extenders and their certificates has 80 kB."""


def spec_bytes(manifest: Mapping[str, Any]) -> int:
    """Return the size of a policy's spec as JSON. For a spec that is nested too deeply, return more than the limit."""
    try:
        return len(msgspec.json.encode(manifest.get("spec")))
    except RecursionError:
        return MAX_SPEC_BYTES + 1


def size_faults(manifest: Mapping[str, Any]) -> list[Fault]:
    """Return a fault if the spec is larger than the limit."""
    if spec_bytes(manifest) <= MAX_SPEC_BYTES:
        return []
    message = (
        f"has more than {MAX_SPEC_BYTES >> 10} KiB as JSON, or is nested too deeply; "
        "shorten its lists and arguments, or let extenders name files with certificates"
    )
    return [Fault(("spec",), None, message)]
