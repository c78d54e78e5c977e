"""The part of kubectl's JSONPath that printer columns use: `.a.b[0]`, `.a[?(@.b=="c")].d`, `.a['b']`."""

import re
from typing import Any

_STEP = re.compile(
    r"\.(?P<name>(?:[^.\[\]\\]|\\.)+)"
    r"|\[\?\(@\.(?P<field>[^=\s]+)\s*==\s*[\"'](?P<value>[^\"']*)[\"']\)\]"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
)


def evaluate(value: Any, path: str) -> list[Any]:
    """Return all values at a path. The list is empty if there are none."""
    found = [value]
    for step in _STEP.finditer(path):
        found = [result for item in found for result in _follow(item, step)]
    return found


def _follow(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        name = name.replace("\\", "")
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return []
    if step["field"] is not None:
        return [item for item in value if isinstance(item, dict) and str(item.get(step["field"])) == step["value"]]
    if step["index"] == "*":
        return value
    index = int(step["index"])
    return [value[index]] if -len(value) <= index < len(value) else []
