"""The layout of the source tree: unique names, the sizes of modules, and the source root."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from statistics import median

SOURCE_ROOT = Path(__file__).parents[1] / "operator"
MODULES = sorted(path for path in (SOURCE_ROOT / "moorage").rglob("*.py") if path.name != "__init__.py")

LONGEST_MODULE = 300
MEDIAN_MODULE = 120


def line_count(module: Path) -> int:
    return len(module.read_text(encoding="utf-8").splitlines())


def repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: found for name, found in places.items() if len(found) > 1}


def test_source_root_is_not_a_package() -> None:
    assert not (SOURCE_ROOT / "__init__.py").exists(), "it would shadow the standard library's operator module"


def test_module_names_are_unique() -> None:
    places = defaultdict(list)
    for module in MODULES:
        places[module.stem].append(str(module.relative_to(SOURCE_ROOT)))
    assert repeated(places) == {}


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(module.relative_to(SOURCE_ROOT)))
    assert repeated(places) == {}


def test_modules_are_short() -> None:
    lengths = {str(module.relative_to(SOURCE_ROOT)): line_count(module) for module in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}
    assert median(lengths.values()) <= MEDIAN_MODULE
