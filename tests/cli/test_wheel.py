"""The wheel contains the files that `moorage demo` reads, as a checkout does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_the_files_of_the_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        (scripts,) = (archive.read(name).decode() for name in packed if name.endswith("entry_points.txt"))
    shown = [path.relative_to(ROOT) for path in ROOT.glob("examples/*/p*.yaml")]
    assert shown
    assert {f"moorage/sandbox/{path}" for path in shown} <= packed
    assert {"moorage/cli/application.py", "moorage/py.typed", "moorage/sandbox/simulation/default_nodes.yaml"} <= packed
    assert {name.partition("/")[0].partition("-")[0] for name in packed} == {"moorage"}
    assert "kubectl-moorage = moorage.cli:main" in scripts  # `kubectl moorage`
