"""Builds the binaries of the real control plane, and finds them.

`make controlplane` runs this file with the system's python3, so it must import only the standard library. It builds the
programs of `go/cmd` with modules from the Go module proxy, into a cache outside the repository. The folder's name has
the Kubernetes version and a digest of the sources, so that each branch uses its own binaries. A binary gets its name
only when it is complete, so the next run continues an interrupted build.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

GO_MODULE = Path(__file__).parent / "go"
GO_NEEDED = "install Go 1.26 or later (https://go.dev/dl/), put `go` on PATH and run `make controlplane` again"
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
DIGEST_LENGTH = 12
"""The number of hex digits in the folder's name. A short number is readable, and still distinguishes the builds."""


class BuildError(Exception):
    """The build failed; the message has the next step."""


def kubernetes_version() -> str:
    """Return the version of k8s.io/kubernetes in go.mod, such as `v1.36.3`."""
    pinned = re.search(r"^\s+k8s\.io/kubernetes (v\S+)$", (GO_MODULE / "go.mod").read_text(), re.MULTILINE)
    if pinned is None:
        raise BuildError(f"{GO_MODULE / 'go.mod'} does not require k8s.io/kubernetes")
    return pinned[1]


def linker_flags() -> str:
    """Return linker flags that omit debugging tables, and set the version that programs of a release report."""
    version = kubernetes_version()
    major, minor = version.removeprefix("v").split(".")[:2]
    stamp = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X k8s.io/component-base/version.{name}={text}" for name, text in stamp.items())])


def default_folder() -> Path:
    """Return the cache folder for the current sources of the Go module. The folder may be missing."""
    digest = hashlib.sha256(linker_flags().encode())
    for path in (GO_MODULE / "go.mod", GO_MODULE / "go.sum", *sorted(GO_MODULE.glob("cmd/**/*.go"))):
        digest.update(f"{path.relative_to(GO_MODULE).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"{kubernetes_version()}-{digest.hexdigest()[:DIGEST_LENGTH]}"
    return cache / "moorage" / "controlplane" / name / "bin"


def assets_folder() -> Path | None:
    """Return the folder in `KUBEBUILDER_ASSETS`; None if it lacks etcd or kube-apiserver."""
    text = os.environ.get(ASSETS_VARIABLE)
    if not text or not all((Path(text) / name).is_file() for name in ("etcd", "kube-apiserver")):
        return None
    return Path(text)


@dataclass(frozen=True)
class Binaries:
    """The paths of the programs. A program is in the assets folder or, if it is missing there, in the build folder."""

    folder: Path = field(default_factory=default_folder)
    assets: Path | None = field(default_factory=assets_folder)

    def names(self) -> list[str]:
        """Return the names of all programs. etcd comes first, because its fast build shows progress early."""
        return sorted((path.name for path in (GO_MODULE / "cmd").iterdir()), key=lambda name: (name != "etcd", name))

    def missing(self) -> list[str]:
        """Return the programs that are in neither folder."""
        return [name for name in self.names() if not self.path(name).is_file()]

    def path(self, name: str) -> Path:
        """Return the file of a program. The file may be missing, because the program is not built yet."""
        if self.assets is not None and (self.assets / name).is_file():
            return self.assets / name
        return self.folder / name


def build(binaries: Binaries) -> None:
    """Build the missing programs one after the other, and print progress."""
    missing = binaries.missing()
    if missing:
        go = _find_go()
        binaries.folder.mkdir(parents=True, exist_ok=True)
        _print(f"building Kubernetes {kubernetes_version()}: about 10 minutes on 2 cores the first time, then seconds")
    for position, name in enumerate(missing, start=1):
        _print(f"building {name} ({position} of {len(missing)}) ...")
        started = time.monotonic()
        _build_one(go, name, binaries.folder)
        _print(f"built {name} in {time.monotonic() - started:.0f} s")


def _find_go() -> str:
    """Return the path of a Go that can build the module."""
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go was not found: {GO_NEEDED}")
    # If go.mod needs a newer Go, `go` in the module's folder fails, or downloads that Go if its settings allow this.
    probe = subprocess.run([go, "list", "-m"], cwd=GO_MODULE, capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise BuildError(f"{go} cannot build the module: {probe.stderr.strip()}: {GO_NEEDED}")
    return go


def _build_one(go: str, name: str, folder: Path) -> None:
    """Build one program under a temporary name, then rename it in one step."""
    partial = folder / f".{name}.{os.getpid()}"
    command = [go, "build", "-buildvcs=false", "-ldflags", linker_flags(), "-o", str(partial), f"./cmd/{name}"]
    try:
        result = subprocess.run(command, cwd=GO_MODULE, check=False)
        if result.returncode != 0:
            raise BuildError(f"building {name} failed with exit code {result.returncode}; see the output of go above")
        partial.replace(folder / name)
    finally:
        partial.unlink(missing_ok=True)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Build the programs, or print their folder or state; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the control plane that tests and benchmarks run against.")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--print", action="store_true", dest="only_print", help="print the folder of the binaries")
    modes.add_argument("--check", action="store_true", help="exit with 1 if binaries are missing; build nothing")
    arguments = parser.parse_args()
    binaries = Binaries()
    if arguments.only_print:
        _print(str(binaries.folder))
        return 0
    if arguments.check:
        missing = binaries.missing()
        if missing:
            sys.stderr.write(f"not built: {', '.join(missing)}; run `make controlplane`\n")
        return 1 if missing else 0
    try:
        build(binaries)
    except BuildError as error:
        sys.stderr.write(f"make controlplane: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; run `make controlplane` again to continue\n")
        return 130
    _print(f"the control plane's binaries are in {binaries.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
